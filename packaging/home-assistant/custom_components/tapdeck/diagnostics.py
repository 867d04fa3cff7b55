"""The data that a report of a fault needs, without secrets."""

from __future__ import annotations

from typing import Any

from homeassistant.components.diagnostics import async_redact_data
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError

from .const import CONF_IDENTITY, CONF_SECRET, DOMAIN
from .deck import Deck


async def async_get_config_entry_diagnostics(hass: HomeAssistant, entry: ConfigEntry) -> dict[str, Any]:
    """The entry, and the health of the deck."""
    deck: Deck = hass.data[DOMAIN][entry.entry_id]
    try:
        health = await deck.call("health")
    except HomeAssistantError as error:
        health = {"error": str(error)}
    return {
        "entry": async_redact_data(dict(entry.data), [CONF_IDENTITY, CONF_SECRET]),
        "connected": deck.is_connected,
        "device": async_redact_data(deck.device, ["addresses"]),
        "health": health,
    }
