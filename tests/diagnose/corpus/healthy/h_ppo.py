"""PPO in one file."""

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.normal import Normal

np.random.seed(1)
torch.manual_seed(1)


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.critic = nn.Sequential(
            layer_init(nn.Linear(n_obs, 32)), nn.Tanh(), layer_init(nn.Linear(32, 1), std=1.0)
        )
        self.actor_mean = nn.Sequential(
            layer_init(nn.Linear(n_obs, 32)), nn.Tanh(), layer_init(nn.Linear(32, n_act), std=0.01)
        )
        self.actor_logstd = nn.Parameter(torch.zeros(1, n_act))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        mean = self.actor_mean(x)
        probs = Normal(mean, torch.exp(self.actor_logstd.expand_as(mean)))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action).sum(1), probs.entropy().sum(1), self.critic(x)


class Envs:
    def reset(self):
        self.x = np.random.uniform(-1, 1, (4, 2)).astype(np.float32)
        self.t = 0
        return self.x

    def step(self, a):
        self.x = np.clip(self.x + 0.1 * a, -2, 2)
        self.t += 1
        done = np.full(4, self.t % 25 == 0)
        r = -np.abs(self.x).sum(1)
        if done[0]:
            self.reset()
        return self.x, r, done


agent, envs = Agent(2, 2), Envs()
optimizer = optim.Adam(agent.parameters(), lr=3e-4, eps=1e-5)
steps, gamma, lam, clip = 32, 0.99, 0.95, 0.2
obs, actions = torch.zeros(steps, 4, 2), torch.zeros(steps, 4, 2)
logprobs, rewards, dones, values = (torch.zeros(steps, 4) for _ in range(4))
next_obs, next_done = torch.Tensor(envs.reset()), torch.zeros(4)
for update in range(1, 5):
    optimizer.param_groups[0]["lr"] = (1 - (update - 1) / 5) * 3e-4
    for step in range(steps):
        obs[step], dones[step] = next_obs, next_done
        with torch.no_grad():
            action, logprob, _, value = agent.get_action_and_value(next_obs)
            values[step] = value.flatten()
        actions[step], logprobs[step] = action, logprob
        o, r, done = envs.step(action.cpu().numpy())
        rewards[step] = torch.tensor(r).view(-1)
        next_obs, next_done = torch.Tensor(o), torch.Tensor(done)
    with torch.no_grad():
        next_value = agent.get_value(next_obs).reshape(1, -1)
        advantages, lastgaelam = torch.zeros_like(rewards), 0
        for t in reversed(range(steps)):
            if t == steps - 1:
                nonterminal, nextvalues = 1.0 - next_done, next_value
            else:
                nonterminal, nextvalues = 1.0 - dones[t + 1], values[t + 1]
            delta = rewards[t] + gamma * nextvalues * nonterminal - values[t]
            advantages[t] = lastgaelam = delta + gamma * lam * nonterminal * lastgaelam
        returns = advantages + values
    b_obs, b_logprobs, b_actions = obs.reshape(-1, 2), logprobs.reshape(-1), actions.reshape(-1, 2)
    b_adv, b_ret, b_val = advantages.reshape(-1), returns.reshape(-1), values.reshape(-1)
    b_inds, clipfracs = np.arange(128), []
    for epoch in range(3):
        np.random.shuffle(b_inds)
        for start in range(0, 128, 32):
            mb = b_inds[start : start + 32]
            _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_actions[mb])
            logratio = newlogprob - b_logprobs[mb]
            ratio = logratio.exp()
            with torch.no_grad():
                approx_kl = ((ratio - 1) - logratio).mean()
                clipfracs += [((ratio - 1.0).abs() > clip).float().mean().item()]
            adv = (b_adv[mb] - b_adv[mb].mean()) / (b_adv[mb].std() + 1e-8)
            pg_loss = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 1 - clip, 1 + clip)).mean()
            newvalue = newvalue.view(-1)
            v_unclipped = (newvalue - b_ret[mb]) ** 2
            v_clipped = (b_val[mb] + torch.clamp(newvalue - b_val[mb], -clip, clip) - b_ret[mb]) ** 2
            v_loss = 0.5 * torch.max(v_unclipped, v_clipped).mean()
            loss = pg_loss - 0.01 * entropy.mean() + v_loss * 0.5
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    print(update, rewards.mean().item(), v_loss.item(), approx_kl.item())
