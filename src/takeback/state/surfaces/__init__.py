"""The eight surfaces of a harness, registered in their usual order."""

from takeback.state.surface import register
from takeback.state.surfaces.bindings import PromptsSurface, RoutingSurface, ToolsSurface
from takeback.state.surfaces.config import ConfigSurface
from takeback.state.surfaces.files import FilesSurface
from takeback.state.surfaces.listeners import ListenersSurface
from takeback.state.surfaces.middleware import MiddlewareSurface
from takeback.state.surfaces.resources import ResourcesSurface

__all__ = [
    "ConfigSurface",
    "FilesSurface",
    "ListenersSurface",
    "MiddlewareSurface",
    "PromptsSurface",
    "ResourcesSurface",
    "RoutingSurface",
    "ToolsSurface",
]

for _surface in (
    ConfigSurface(),
    PromptsSurface(),
    RoutingSurface(),
    ToolsSurface(),
    MiddlewareSurface(),
    ListenersSurface(),
    FilesSurface(),
    ResourcesSurface(),
):
    register(_surface)
