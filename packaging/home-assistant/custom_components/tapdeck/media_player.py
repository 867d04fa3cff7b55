"""The player of a deck: the current media, its keys, and the library."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

from homeassistant.components.media_player import (
    BrowseError,
    BrowseMedia,
    MediaClass,
    MediaPlayerDeviceClass,
    MediaPlayerEntity,
    MediaPlayerEntityFeature,
    MediaPlayerState,
    MediaType,
)
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.device_registry import DeviceInfo
from homeassistant.helpers.entity_platform import AddEntitiesCallback
from homeassistant.util import dt

from .const import DOMAIN, script_of
from .deck import Deck

# The type of a folder's id in the library; that of a file is a script, as on a card.
FOLDER = "folder"
ENTRIES_MAX = 1000
PICTURE_EDGE = 512
KINDS = {
    "Audio": (MediaClass.MUSIC, MediaType.MUSIC),
    "Audiobook": (MediaClass.TRACK, MediaType.MUSIC),
    "Video": (MediaClass.VIDEO, MediaType.VIDEO),
    "Image": (MediaClass.IMAGE, MediaType.IMAGE),
}
GAME = (MediaClass.GAME, MediaType.GAME)
STATES = {
    "loading": MediaPlayerState.BUFFERING,
    "buffering": MediaPlayerState.BUFFERING,
    "playing": MediaPlayerState.PLAYING,
    "paused": MediaPlayerState.PAUSED,
}


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry, add: AddEntitiesCallback) -> None:
    """Adds the player of the deck."""
    add([TapdeckPlayer(hass.data[DOMAIN][entry.entry_id], entry)])


class TapdeckPlayer(MediaPlayerEntity):
    """Media that a card starts on the deck."""

    _attr_has_entity_name = True
    _attr_name = None
    _attr_should_poll = False
    _attr_device_class = MediaPlayerDeviceClass.RECEIVER
    _attr_media_image_remotely_accessible = False

    def __init__(self, deck: Deck, entry: ConfigEntry) -> None:
        self._deck = deck
        self._attr_unique_id = entry.unique_id or entry.entry_id
        host = entry.data["host"]
        self._attr_device_info = DeviceInfo(
            identifiers={(DOMAIN, self._attr_unique_id)},
            name=deck.device.get("name") or entry.title,
            manufacturer="Tapdeck",
            model=deck.device.get("board"),
            sw_version=deck.device.get("version"),
            configuration_url=f"http://{host}:{entry.data['port']}/",
        )
        self._show()

    async def async_added_to_hass(self) -> None:
        """Follows the deck."""
        self.async_on_remove(self._deck.listen(self._on_change))

    @callback
    def _on_change(self) -> None:
        self._show()
        self.async_write_ha_state()

    @callback
    def _show(self) -> None:
        media = self._deck.media or {}
        audio = media.get("audio", {})
        state = media.get("playbackState")
        self._attr_available = self._deck.is_connected
        self._attr_supported_features = self._features(media)
        # A player that reports no state plays as long as it runs.
        self._attr_state = STATES[state or "playing"] if media else MediaPlayerState.IDLE
        self._attr_media_title = (media.get("streamTitle") or audio.get("title") or media.get("mediaName")) if media else None
        self._attr_media_artist = audio.get("artist")
        self._attr_media_album_name = audio.get("album")
        self._attr_media_track = audio.get("track")
        self._attr_app_name = media.get("systemName")
        self._attr_media_content_id = media.get("mediaPath")
        self._attr_media_content_type = KINDS.get(media.get("systemId", ""), GAME)[1] if media else None
        self._attr_media_image_hash = self._image_hash(media)
        self._attr_volume_level = media["volume"] / 100 if "volume" in media else None
        self._attr_media_playlist = (self._deck.playlist or {}).get("name") or None
        self._attr_media_duration = _seconds(media.get("durationMs"))
        position = _seconds(media.get("positionMs"))
        if position != self._attr_media_position or state == "playing":
            self._attr_media_position_updated_at = dt.utcnow() if position is not None else None
        self._attr_media_position = position

    _attr_media_position: int | None = None
    _attr_media_position_updated_at: datetime | None = None

    def _features(self, media: dict[str, Any]) -> MediaPlayerEntityFeature:
        features = (
            MediaPlayerEntityFeature.PLAY_MEDIA | MediaPlayerEntityFeature.BROWSE_MEDIA | MediaPlayerEntityFeature.STOP
        )
        if "playbackState" in media:
            features |= MediaPlayerEntityFeature.PLAY | MediaPlayerEntityFeature.PAUSE
        if "positionMs" in media:
            features |= MediaPlayerEntityFeature.SEEK
        if "volume" in media:
            features |= MediaPlayerEntityFeature.VOLUME_SET | MediaPlayerEntityFeature.VOLUME_STEP
        if (self._deck.playlist or {}).get("count", 0) > 1:
            features |= MediaPlayerEntityFeature.NEXT_TRACK | MediaPlayerEntityFeature.PREVIOUS_TRACK
        return features

    @staticmethod
    def _image_hash(media: dict[str, Any]) -> str | None:
        path = media.get("mediaPath", "")
        return f"{hash((path, media['started'])) & 0xFFFFFFFFFFFF:x}" if path.startswith("/") else None

    async def async_media_play(self) -> None:
        """Goes on."""
        await self._control("resume")

    async def async_media_pause(self) -> None:
        """Pauses."""
        await self._control("pause")

    async def async_media_stop(self) -> None:
        """Stops the current media."""
        await self._deck.call("stop")

    async def async_media_next_track(self) -> None:
        """Goes to the next item of the list."""
        await self._deck.call("launch", "**playlist.next")

    async def async_media_previous_track(self) -> None:
        """Goes to the item before."""
        await self._deck.call("launch", "**playlist.previous")

    async def async_media_seek(self, position: float) -> None:
        """Goes to a place in seconds."""
        await self._control("seek", {"positionMs": round(position * 1000)})

    async def async_set_volume_level(self, volume: float) -> None:
        """Sets the volume of the player, 0 to 1."""
        await self._control("volume", [round(volume * 100)])

    async def _control(self, action: str, args: Any = None) -> None:
        await self._deck.call("media.control", {"action": action, "args": args})
        await self._deck.refresh()

    async def async_play_media(self, media_type: str, media_id: str, **kwargs: Any) -> None:
        """Starts a script, as a card would: a path such as `SNES/Game.sfc` is one. A folder plays as a list."""
        await self._deck.call("launch", script_of(media_id) if media_type == FOLDER else media_id)

    async def async_get_media_image(self) -> tuple[bytes | None, str | None]:
        """The cover of the current media."""
        return await self._picture((self._deck.media or {}).get("mediaPath", ""))

    async def async_get_browse_image(
        self, media_content_type: str, media_content_id: str, media_image_id: str | None = None
    ) -> tuple[bytes | None, str | None]:
        """The cover of an entry of the library."""
        return await self._picture(media_image_id or media_content_id)

    async def _picture(self, path: str) -> tuple[bytes | None, str | None]:
        try:
            picture = await self._deck.call("media.image", {"path": path, "maxSize": PICTURE_EDGE})
        except HomeAssistantError:
            return None, None
        return base64.b64decode(picture["data"]), picture["contentType"]

    async def async_browse_media(
        self, media_content_type: str | None = None, media_content_id: str | None = None
    ) -> BrowseMedia:
        """A folder of the library; without an id all systems."""
        path = media_content_id or ""
        try:
            page = await self._deck.call("media.browse", {"path": path, "maxResults": ENTRIES_MAX})
        except HomeAssistantError as error:
            raise BrowseError(str(error)) from error
        return BrowseMedia(
            title=path.rsplit("/", maxsplit=1)[-1] or "Tapdeck",
            media_class=MediaClass.DIRECTORY,
            media_content_type=FOLDER,
            media_content_id=path,
            can_play="/" in path,
            can_expand=True,
            children=[self._entry(one) for one in page["entries"]],
            not_shown=max(0, page["totalFiles"] + page["totalDirs"] - len(page["entries"])),
        )

    def _entry(self, entry: dict[str, Any]) -> BrowseMedia:
        is_file = entry["type"] == "media"
        media_class, media_type = KINDS.get(entry["systemId"], GAME)
        content_type, content_id = (media_type, entry["zapScript"]) if is_file else (FOLDER, entry["path"])
        return BrowseMedia(
            title=entry.get("audio", {}).get("title") or entry["name"],
            media_class=media_class if is_file else MediaClass.DIRECTORY,
            media_content_type=content_type,
            media_content_id=content_id,
            # A whole system is only opened.
            can_play=is_file or entry["type"] == "directory",
            can_expand=not is_file,
            thumbnail=self.get_browse_image_url(content_type, content_id, entry["path"]),
        )


def _seconds(ms: int | None) -> int | None:
    return None if ms is None else round(ms / 1000)
