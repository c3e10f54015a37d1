"""A classifier trained by a Trainer: a data module, logged values, callbacks, a scheduler, a checkpoint read back."""

import logging
import tempfile
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Blobs(L.LightningDataModule):
    def setup(self, stage=None):
        generator = torch.Generator().manual_seed(1)
        centres = 2 * torch.randn(4, 8, generator=generator)
        self.y = torch.randint(0, 4, (640,), generator=generator)
        self.x = centres[self.y] + torch.randn(640, 8, generator=generator)

    def train_dataloader(self):
        return DataLoader(TensorDataset(self.x[:512], self.y[:512]), batch_size=32, shuffle=True)

    def val_dataloader(self):
        return DataLoader(TensorDataset(self.x[512:], self.y[512:]), batch_size=64)


class Classifier(L.LightningModule):
    def __init__(self, width=32, lr=0.01):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.BatchNorm1d(width), nn.Linear(width, 4))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        out = self(x)
        accuracy = (out.argmax(1) == y).float().mean()
        self.log_dict({"val_loss": nn.functional.cross_entropy(out, y), "accuracy": accuracy})

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)}


class Prints(Callback):
    def on_validation_epoch_end(self, trainer, module):
        if not trainer.sanity_checking:
            print({name: round(value.item(), 6) for name, value in sorted(trainer.callback_metrics.items())})


L.seed_everything(0, verbose=False)
with tempfile.TemporaryDirectory() as folder:
    best = ModelCheckpoint(folder, monitor="val_loss")
    trainer = L.Trainer(
        max_epochs=5, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
        gradient_clip_val=1.0, callbacks=[Prints(), best, EarlyStopping("val_loss", patience=3)],
        default_root_dir=folder)
    data, model = Blobs(), Classifier()
    trainer.fit(model, data)
    again = Classifier.load_from_checkpoint(best.best_model_path)
    print(trainer.global_step, trainer.optimizers[0].param_groups[0]["lr"], again.hparams.width)
    again.eval()
    with torch.no_grad():
        print(again(data.x[:3]).tolist())
