"""Tables in, model files out and in."""

from onepath.files.columns import Chosen, Observations, choose_columns
from onepath.files.encoding import Damaged, Unsavable
from onepath.files.model import load_model, save_model
from onepath.files.tables import Table, read_table
from onepath.files.text import BadTable
from onepath.files.writing import Kept, check_free, write_atomically

__all__ = [
    "BadTable",
    "Chosen",
    "Damaged",
    "Kept",
    "Observations",
    "Table",
    "Unsavable",
    "check_free",
    "choose_columns",
    "load_model",
    "read_table",
    "save_model",
    "write_atomically",
]
