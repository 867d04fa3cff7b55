"""Tapdeck: a console for games, music and films that is operated with cards."""

from __future__ import annotations

import asyncio

import tapdeck
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import ConfigEntryAuthFailed, ConfigEntryNotReady

from .const import DOMAIN
from .deck import UNKNOWN_CLIENT, Deck

PLATFORMS = [Platform.MEDIA_PLAYER]


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry) -> bool:
    """Connects to the deck, and adds its player."""
    deck = Deck(hass, entry)
    first: asyncio.Future[Exception | None] = hass.loop.create_future()

    def on_first(error: Exception | None) -> None:
        if not first.done():
            first.set_result(error)

    running = entry.async_create_background_task(hass, deck.run(on_first), f"Tapdeck {entry.title}")
    error = await first
    if isinstance(error, tapdeck.RpcError) and error.code == UNKNOWN_CLIENT:
        raise ConfigEntryAuthFailed("The deck does not know this Home Assistant any more") from error
    if error is not None:
        running.cancel()
        raise ConfigEntryNotReady("The deck does not answer") from error
    hass.data.setdefault(DOMAIN, {})[entry.entry_id] = deck
    await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
    return True


async def async_unload_entry(hass: HomeAssistant, entry: ConfigEntry) -> bool:
    """Removes the player; Home Assistant ends the connection with the entry."""
    is_unloaded = await hass.config_entries.async_unload_platforms(entry, PLATFORMS)
    if is_unloaded:
        hass.data[DOMAIN].pop(entry.entry_id)
    return is_unloaded
