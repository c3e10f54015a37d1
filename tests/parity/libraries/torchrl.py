"""torchrl: losses that map their networks over the values of several critics, SAC and double DQN, on stored steps."""

import logging

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from tensordict.nn.distributions import NormalParamExtractor
from torch import nn
from torchrl import logger
from torchrl.data import Bounded, LazyTensorStorage, OneHot, TensorDictReplayBuffer
from torchrl.modules import MLP, ProbabilisticActor, QValueActor, TanhNormal, ValueOperator
from torchrl.objectives import DQNLoss, SACLoss, SoftUpdate

logger.setLevel(logging.ERROR)
torch.manual_seed(1)
n = 64
seen, action = torch.randn(n, 3), torch.rand(n, 2) * 2 - 1
after = seen + 0.1 * torch.cat([action, action.sum(-1, keepdim=True)], -1)
over = torch.zeros(n, 1, dtype=torch.bool)
steps = TensorDict({"observation": seen, "action": action, "next": {"observation": after, "done": over,
    "terminated": over, "reward": -after.pow(2).sum(-1, keepdim=True)}}, [n])
memory = TensorDictReplayBuffer(storage=LazyTensorStorage(n), batch_size=32)
memory.extend(steps)

net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 4), NormalParamExtractor())
actor = ProbabilisticActor(TensorDictModule(net, ["observation"], ["loc", "scale"]), in_keys=["loc", "scale"],
    spec=Bounded(-1, 1, (2,)), distribution_class=TanhNormal)
critic = ValueOperator(MLP(in_features=5, out_features=1, num_cells=[16]), in_keys=["observation", "action"])
sac = SACLoss(actor, critic, num_qvalue_nets=3)
sac.make_value_estimator(gamma=0.9)
target = SoftUpdate(sac, eps=0.9)
opt = torch.optim.Adam(sac.parameters(), 1e-2)
for step in range(20):
    found = sac(memory.sample())
    opt.zero_grad()
    (found["loss_actor"] + found["loss_qvalue"] + found["loss_alpha"]).backward()
    opt.step()
    target.step()
    print(step, f"{found['loss_actor'].item():.5f} {found['loss_qvalue'].item():.5f} {found['alpha'].item():.5f}")

values = QValueActor(MLP(in_features=3, out_features=4, num_cells=[16]), in_keys=["observation"], spec=OneHot(4))
dqn = DQNLoss(values, action_space="one_hot", double_dqn=True)
dqn.make_value_estimator(gamma=0.9)
target = SoftUpdate(dqn, tau=0.1)
opt = torch.optim.Adam(dqn.parameters(), 1e-2)
steps["action"] = nn.functional.one_hot(torch.arange(n) % 4, 4)
for step in range(20):
    loss = dqn(steps)["loss"]
    opt.zero_grad()
    loss.backward()
    opt.step()
    target.step()
    print(step, f"{loss.item():.5f}")
