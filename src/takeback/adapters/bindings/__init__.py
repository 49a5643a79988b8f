"""Bindings: records kept by other systems, as the manifest declares them, and how each is guarded."""

from takeback.adapters.bindings.protocol import Binding, Seen, list_binding_kinds, open_binding

__all__ = ["Binding", "Seen", "list_binding_kinds", "open_binding"]
