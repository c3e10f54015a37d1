import itertools
import random
import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)

def gen():
    return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.InstanceNorm2d(8), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1), nn.Tanh())

def disc():
    return nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 3, 2, 1))

class Pool:
    def __init__(self, size=16):
        self.size, self.images = size, []

    def query(self, images):
        out = []
        for image in images.detach():
            if len(self.images) < self.size:
                self.images.append(image)
                out.append(image)
            elif random.random() > 0.5:
                i = random.randrange(self.size)
                out.append(self.images[i].clone())
                self.images[i] = image
            else:
                out.append(image)
        return torch.stack(out)

def set_grad(nets, flag):
    for net in nets:
        for p in net.parameters():
            p.requires_grad_(flag)

class CycleGAN:
    def __init__(self):
        self.ab, self.ba, self.da, self.db = gen(), gen(), disc(), disc()
        self.og = torch.optim.Adam(itertools.chain(self.ab.parameters(), self.ba.parameters()), lr=2e-4, betas=(0.5, 0.999))
        self.od = torch.optim.Adam(itertools.chain(self.da.parameters(), self.db.parameters()), lr=2e-4, betas=(0.5, 0.999))
        self.pa, self.pb = Pool(), Pool()
        self.l1, self.mse = nn.L1Loss(), nn.MSELoss()

    def g_loss(self, a, b):
        fb, fa = self.ab(a), self.ba(b)
        ra, rb = self.ba(fb), self.ab(fa)
        pb, pa = self.db(fb), self.da(fa)
        adv = self.mse(pb, torch.ones_like(pb)) + self.mse(pa, torch.ones_like(pa))
        return adv + 10 * (self.l1(ra, a) + self.l1(rb, b)) + 5 * (self.l1(self.ab(b), b) + self.l1(self.ba(a), a)), fa, fb

    def d_loss(self, d, real, fake):
        pr, pf = d(real), d(fake)
        return (self.mse(pr, torch.ones_like(pr)) + self.mse(pf, torch.zeros_like(pf))) / 2

    def step(self, a, b):
        set_grad([self.da, self.db], False)
        self.og.zero_grad()
        loss, fa, fb = self.g_loss(a, b)
        loss.backward()
        self.og.step()
        set_grad([self.da, self.db], True)
        self.od.zero_grad()
        la = self.d_loss(self.da, a, self.pa.query(fa))
        lb = self.d_loss(self.db, b, self.pb.query(fb))
        la.backward()
        lb.backward()
        self.od.step()
        return loss.item()

gan = CycleGAN()
losses = [gan.step(torch.rand(2, 1, 8, 8) * 2 - 1, torch.rand(2, 1, 8, 8) * 2 - 1) for _ in range(14)]
