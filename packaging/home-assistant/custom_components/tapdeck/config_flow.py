"""Pairs with a deck by the code that it shows: found in the network, or by its address."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import tapdeck
import voluptuous as vol
from homeassistant.config_entries import ConfigEntry, ConfigFlow
from homeassistant.const import CONF_CODE, CONF_HOST, CONF_PORT
from homeassistant.data_entry_flow import FlowResult

from .const import CONF_IDENTITY, CONF_SECRET, DOMAIN, PORT
from .deck import ANSWER_SECONDS, url_of

if TYPE_CHECKING:
    from homeassistant.components.zeroconf import ZeroconfServiceInfo

_LOGGER = logging.getLogger(__name__)

ADDRESS = vol.Schema({vol.Required(CONF_HOST): str, vol.Required(CONF_PORT, default=PORT): vol.All(int, vol.Range(1, 65535))})
CODE = vol.Schema({vol.Required(CONF_CODE): str})


class TapdeckConfigFlow(ConfigFlow, domain=DOMAIN):
    """The steps from an address to an identity."""

    VERSION = 1

    def __init__(self) -> None:
        self._host = ""
        self._port = PORT
        self._name = ""
        self._again: ConfigEntry | None = None

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> FlowResult:
        """Asks for the address."""
        if user_input is None:
            return self.async_show_form(step_id="user", data_schema=ADDRESS)
        self._host = user_input[CONF_HOST].strip()
        self._port = user_input[CONF_PORT]
        self._name = self._host
        await self._claim(self._host)
        return await self.async_step_pair()

    async def async_step_zeroconf(self, discovery_info: ZeroconfServiceInfo) -> FlowResult:
        """Takes a deck that announced itself."""
        self._host = discovery_info.hostname.removesuffix(".")
        self._port = discovery_info.port or PORT
        self._name = self._host.removesuffix(".local")
        await self._claim(self._host)
        self.context["title_placeholders"] = {"name": self._name}
        return await self.async_step_pair()

    async def async_step_reauth(self, entry_data: Mapping[str, Any]) -> FlowResult:
        """Pairs again after the deck has revoked this Home Assistant."""
        self._again = self.hass.config_entries.async_get_entry(self.context["entry_id"])
        self._host = entry_data[CONF_HOST]
        self._port = entry_data[CONF_PORT]
        self._name = self._again.title if self._again is not None else self._host
        return await self.async_step_pair()

    async def async_step_pair(self, user_input: dict[str, Any] | None = None) -> FlowResult:
        """Asks for the code that the deck shows."""
        fault: dict[str, str] = {}
        if user_input is not None:
            try:
                return await self._finish(await self._pair(user_input[CONF_CODE]))
            except ValueError:
                fault = {CONF_CODE: "no_code"}
            except tapdeck.SecureFailure:
                fault = {CONF_CODE: "wrong_code"}
            except tapdeck.RpcError as error:
                is_wrong = isinstance(error.data, dict) and "triesLeft" in error.data
                fault = {CONF_CODE: "wrong_code"} if is_wrong else {"base": "no_pairing"}
                _LOGGER.debug("The deck refuses: %s", error)
            except (OSError, TimeoutError):
                fault = {"base": "cannot_connect"}
        return self.async_show_form(
            step_id="pair", data_schema=CODE, errors=fault, description_placeholders={"name": self._name}
        )

    async def _claim(self, host: str) -> None:
        """Ends the flow if the deck is configured already."""
        await self.async_set_unique_id(host.lower())
        self._abort_if_unique_id_configured(updates={CONF_HOST: self._host, CONF_PORT: self._port})

    async def _pair(self, code: str) -> tapdeck.Identity:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await tapdeck.pair(url_of(self._host, self._port), code, name=self._client_name())

    def _client_name(self) -> str:
        """The name of this client on the deck, which keeps one client per name."""
        return f"Home Assistant ({self.hass.config.location_name})"[:64]

    async def _finish(self, identity: tapdeck.Identity) -> FlowResult:
        data = {
            CONF_HOST: self._host,
            CONF_PORT: self._port,
            CONF_IDENTITY: identity.id,
            CONF_SECRET: identity.secret,
        }
        if self._again is None:
            return self.async_create_entry(title=self._name, data=data)
        self.hass.config_entries.async_update_entry(self._again, data=data)
        await self.hass.config_entries.async_reload(self._again.entry_id)
        return self.async_abort(reason="reauth_successful")
