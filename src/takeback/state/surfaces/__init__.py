"""The eight surfaces of a harness, registered in their usual order."""

from takeback.state.surface import register
from takeback.state.surfaces.config import Config
from takeback.state.surfaces.files import Files
from takeback.state.surfaces.listeners import Listeners
from takeback.state.surfaces.middleware import Middleware
from takeback.state.surfaces.prompts import Prompts
from takeback.state.surfaces.resources import Resources
from takeback.state.surfaces.routing import Routing
from takeback.state.surfaces.tools import Tools

__all__ = ["Config", "Files", "Listeners", "Middleware", "Prompts", "Resources", "Routing", "Tools"]

for _surface in (Config(), Prompts(), Routing(), Tools(), Middleware(), Listeners(), Files(), Resources()):
    register(_surface)
