import sys

if "--operators" in sys.argv[1:]:
    from benchmarks.operators import main as operators

    operators([a for a in sys.argv[1:] if a != "--operators"])
elif "--calls" in sys.argv[1:]:
    from benchmarks.calls import main as calls

    calls([a for a in sys.argv[1:] if a != "--calls"])
else:
    from benchmarks.run import main

    main()
