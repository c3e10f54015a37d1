"""Actor and critic share features; the actor's backward goes through the value that the critic's has freed."""
import torch
from torch import nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Linear(4, 32)
        self.pi = nn.Linear(32, 3)
        self.v = nn.Linear(32, 1)

    def forward(self, s):
        h = torch.tanh(self.features(s))
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class Learner:
    def __init__(self):
        self.net = ActorCritic()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=3e-3)

    def learn(self, states):
        dist, values = self.net(states)
        actions = dist.sample()
        rewards = (actions == states[:, :3].argmax(1)).float()
        advantages = rewards - values
        self.opt.zero_grad()
        critic_loss = advantages.pow(2).mean()
        critic_loss.backward()  # or: backward-twice
        actor_loss = -(dist.log_prob(actions) * advantages.detach()).mean()
        actor_loss.backward()  # expect: backward-twice
        self.opt.step()
        return rewards.mean().item()


torch.manual_seed(0)
learner = Learner()
for it in range(10):
    print(it, learner.learn(torch.randn(64, 4)))
