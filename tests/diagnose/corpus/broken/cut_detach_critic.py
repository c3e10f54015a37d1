"""Actor and critic: the critic's loss is built from values that were detached for the actor."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(1)
actor = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)


def rollout(n=8):
    states, log_probs, rewards = [], [], []
    state = torch.randn(4)
    for _ in range(n):
        policy = Categorical(logits=actor(state))
        action = policy.sample()
        states.append(state)
        log_probs.append(policy.log_prob(action))
        rewards.append(float(state[0] > 0) if action.item() else 0.1)
        state = torch.randn(4)
    return torch.stack(states), torch.stack(log_probs), torch.tensor(rewards)


for episode in range(6):
    states, log_probs, returns = rollout()
    values = critic(states).squeeze(-1).detach()  # expect: cut-detach 0.weight 0.bias 2.weight 2.bias
    advantage = returns - values
    actor_loss = -(log_probs * advantage).mean()
    critic_loss = advantage.pow(2).mean()
    loss = actor_loss + 0.5 * critic_loss
    actor_optimizer.zero_grad()
    critic_optimizer.zero_grad()
    loss.backward()
    actor_optimizer.step()
    critic_optimizer.step()
