/** The Spanish texts of the graphical screen. */
import { spanishFaults } from "../../core/languages/spanish-faults.ts";
import type { ScreenTexts } from "../texts.ts";

export const spanishScreen: ScreenTexts = {
  headline: {
    ready: "Pon una tarjeta",
    "no-reader": "Conecta un lector",
    "reader-broken": "El lector no funciona",
    empty: "Esta tarjeta está vacía",
    "not-found": "No se encuentra",
    failed: "No ha empezado",
    starting: "Empezando",
    playlist: "Elige en el móvil",
    "stick-away": "Conecta la memoria USB",
    "stick-gone": "Falta la memoria USB",
    "time-over": "Se acabó el tiempo de juego",
    "switching-off": "Apagando",
    restarting: "Reiniciando",
    pairing: "Conecta un móvil",
  },
  below: {
    ready: "y empieza aquí",
    "no-reader": "Las tarjetas necesitan un lector",
    "reader-broken": "Desconéctalo y vuelve a conectarlo",
    empty: "Elige en el móvil qué empieza",
    "not-found": "Lo que empieza esta tarjeta no está aquí",
    failed: "Prueba otra tarjeta",
    starting: "",
    playlist: "",
    "stick-away": "Lo que empieza esta tarjeta está en ella",
    "stick-gone": "Conéctala y vuelve a poner la tarjeta",
    "time-over": "Hasta la próxima",
    "switching-off": "Desenchufa cuando la luz de la placa se apague",
    restarting: "Tarda un momento",
    pairing: "Apunta su cámara al código",
  },
  openPage: "Ábrelo en el móvil",
  causes: {
    ...spanishFaults.reasons,
    "player-failed": "Este archivo no se reproduce. Quizá esté dañado o incompleto.",
    "player-not-ready": "Este archivo ha tardado demasiado. Inténtalo otra vez.",
    "launcher-missing": "No hay reproductor para este archivo.",
    "core-missing": "No hay emulador para este sistema.",
    "bios-missing": "A este juego le falta un archivo de BIOS.",
    uploading: "Este archivo todavía se está subiendo.",
    busy: "El aparato tiene demasiado que hacer ahora.",
  },
  faults: {
    ...spanishFaults.faults,
    "disk-full":
      "La tarjeta de memoria está llena: lo que juegas no se guarda. Abre la página en un móvil y borra algo.",
    "saves-not-kept": "No se pueden guardar las partidas: {why}",
    "saves-memory-full": "La memoria de las partidas está llena: termina el juego y empiézalo otra vez.",
  },
  noNetwork:
    "Sin red: conecta un cable, o escribe la wifi en tapdeck.conf de la tarjeta de memoria. Las tarjetas funcionan igual.",
  joinWifi: "Únete a esta wifi",
  wifiPassword: "contraseña",
  noWifi:
    "Sin red: únete a esta wifi con el móvil para configurar una, o conecta un cable. Las tarjetas funcionan igual.",
  joiningWifi: "Conectando con «{network}». Tarda hasta un minuto.",
  wifiLater:
    "Sin red. Poco después de un arranque el móvil puede configurar la wifi aquí, o conecta un cable. Las tarjetas funcionan igual.",
  wifiFaults: {
    "wrong-password": "La contraseña de la wifi es incorrecta.",
    "not-found": "La wifi está fuera de alcance.",
    refused: "La wifi no deja entrar a este aparato, o su señal es muy débil.",
    "no-address": "La wifi no da ninguna dirección: reinicia su router.",
  },
  acts: {
    backup: (name) => `${name} ha hecho una copia de seguridad.`,
    restore: (name) => `${name} restaura una copia de seguridad.`,
    "device.update": (name) => `${name} instala una actualización.`,
    "device.restart": (name) => `${name} reinicia este aparato.`,
    "device.shutdown": (name) => `${name} apaga este aparato.`,
  },
  endGame: "Select + Start en el mando termina un juego",
  typeDigits: "o escribe",
  atAddress: "en",
};
