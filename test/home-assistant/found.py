"""Announces a deck to a Home Assistant without that deck's network, and prints the steps of the flow that follows."""

import asyncio
import json
import sys
from types import SimpleNamespace

from homeassistant import config_entries, loader
from homeassistant.core import HomeAssistant


async def main(folder: str) -> None:
    hass = HomeAssistant(folder)
    hass.config.config_dir = folder
    loader.async_setup(hass)
    hass.config_entries = config_entries.ConfigEntries(hass, {})
    await hass.config_entries.async_initialize()
    found = SimpleNamespace(hostname="Hall.local.", port=7497)
    flows = hass.config_entries.flow

    async def announce() -> dict:
        return await flows.async_init("tapdeck", context={"source": "zeroconf"}, data=found)

    first = await announce()
    second = await announce()
    shown = flows.async_get(first["flow_id"])
    print(
        json.dumps(
            {
                "step": first["step_id"],
                "name": shown["context"]["title_placeholders"]["name"],
                "again": second.get("reason"),
                "unique_id": shown["context"]["unique_id"],
            }
        )
    )
    await hass.async_stop(force=True)


asyncio.run(main(sys.argv[1]))
