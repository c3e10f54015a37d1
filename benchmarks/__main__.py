import sys

if "--operators" in sys.argv[1:]:
    from benchmarks.operators import main as operators

    operators([a for a in sys.argv[1:] if a != "--operators"])
elif "--calls" in sys.argv[1:]:
    from benchmarks.calls import main as calls

    calls([a for a in sys.argv[1:] if a != "--calls"])
elif "--gate" in sys.argv[1:]:
    from benchmarks.gate import main as gate

    sys.exit(gate([a for a in sys.argv[1:] if a != "--gate"]))
elif "--first" in sys.argv[1:]:
    from benchmarks.first import main as first

    sys.exit(first([a for a in sys.argv[1:] if a != "--first"]))
elif "--figures" in sys.argv[1:]:
    from benchmarks.figures import main as figures

    figures([a for a in sys.argv[1:] if a != "--figures"])
elif "--scale" in sys.argv[1:]:
    from benchmarks.scale import main as scale

    scale([a for a in sys.argv[1:] if a != "--scale"])
else:
    from benchmarks.run import main

    main()
