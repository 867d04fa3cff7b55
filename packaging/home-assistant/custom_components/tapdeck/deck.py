"""The connection to one deck. It is opened again as long as the entry is loaded, and listeners are called at each change."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any

import tapdeck
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import CONF_HOST, CONF_PORT
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError

from .const import CONF_IDENTITY, CONF_SECRET

_LOGGER = logging.getLogger(__name__)

# Notifications after which the state of the player may have changed.
HEARD = (
    "media.started",
    "media.stopped",
    "media.paused",
    "media.resumed",
    "media.indexing",
)
ANSWER_SECONDS = 10
# A deck that was switched on again answers within half a minute.
RETRY_SECONDS = (1, 2, 5, 10, 30)
# The position, the volume and the end of a start have no notification.
POLL_SECONDS = 10
UNKNOWN_CLIENT = -32003


def url_of(host: str, port: int) -> str:
    """The address of the API, in which an IPv6 address stands in brackets."""
    return f"ws://{f'[{host}]' if ':' in host else host}:{port}/api/v0.1"


class Deck:
    """A deck of the network."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry) -> None:
        self._hass = hass
        self._entry = entry
        self._url = url_of(entry.data[CONF_HOST], entry.data[CONF_PORT])
        self._identity = tapdeck.Identity(entry.data[CONF_IDENTITY], entry.data[CONF_SECRET])
        self._client: tapdeck.Client | None = None
        self._listeners: set[CALLBACK_TYPE] = set()
        self.media: dict[str, Any] | None = None
        """The media that plays, as `media.active` returns it."""
        self.playlist: dict[str, Any] | None = None
        self.device: dict[str, Any] = {}

    @property
    def is_connected(self) -> bool:
        """Whether the deck answers at present."""
        return self._client is not None

    @callback
    def listen(self, listener: CALLBACK_TYPE) -> CALLBACK_TYPE:
        """Calls the listener after each change, and returns a function that ends this."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    async def call(self, method: str, params: Any = None) -> Any:
        """The result of a method. Raises `HomeAssistantError` with the sentence of the deck."""
        if self._client is None:
            raise HomeAssistantError("The deck is switched off or away")
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._client.call(method, params)
        except tapdeck.RpcError as error:
            raise HomeAssistantError(str(error)) from error
        except (ConnectionError, TimeoutError) as error:
            raise HomeAssistantError("The deck does not answer") from error

    async def run(self, on_first: Callable[[Exception | None], None]) -> None:
        """Holds the connection until it is cancelled. `on_first` gets the outcome of the first attempt."""
        attempts = 0
        while True:
            try:
                async with tapdeck.connect(self._url, self._identity, open_timeout=ANSWER_SECONDS) as client:
                    with client.subscribe(*HEARD) as heard:
                        await self._begin(client)
                        attempts = 0
                        on_first(None)
                        await self._follow(heard)
            except tapdeck.RpcError as error:
                on_first(error)
                if error.code == UNKNOWN_CLIENT:
                    # The client was revoked on the deck, so the user pairs again.
                    self._entry.async_start_reauth(self._hass)
                    return
                _LOGGER.debug("The deck refuses: %s", error)
            except (OSError, TimeoutError, tapdeck.SecureFailure, BufferError) as error:
                on_first(error)
                _LOGGER.debug("The deck is away: %s", error)
            finally:
                self._client = None
                self._tell()
            await asyncio.sleep(RETRY_SECONDS[min(attempts, len(RETRY_SECONDS) - 1)])
            attempts += 1

    async def _begin(self, client: tapdeck.Client) -> None:
        async with asyncio.timeout(ANSWER_SECONDS):
            self.device = await client.call("device")
        self._client = client
        await self.refresh()

    async def _follow(self, heard: tapdeck.Subscription) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await anext(heard)
            await self.refresh()

    async def refresh(self) -> None:
        """Asks for the current media. Raises `ConnectionError` if the deck does not answer."""
        if self._client is None:
            return
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await self._client.call("media")
        except TimeoutError as error:
            raise ConnectionError("the deck does not answer") from error
        self.media = next(iter(answer["active"]), None)
        self.playlist = next(iter(answer["playlists"]), None)
        self._tell()

    @callback
    def _tell(self) -> None:
        for listener in list(self._listeners):
            listener()
