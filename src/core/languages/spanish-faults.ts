/** The Spanish texts of faults and of failed launches. */
import type { FaultedTexts } from "../faults.ts";

export const spanishFaults: FaultedTexts = {
  reasons: {
    blank: "Esta tarjeta está vacía.",
    unformatted: "Esta tarjeta está vacía y aún sin formato. Al escribirla se le da formato.",
    "half-written": "El texto de esta tarjeta está incompleto. Escríbala de nuevo.",
    "other-message": "Esta tarjeta contiene datos de otro tipo.",
    locked: "Esta tarjeta está bloqueada.",
    unreadable: "No se ha podido leer esta tarjeta. Colóquela de nuevo.",
    "no-text": "Esta tarjeta todavía no tiene función.",
    "pairing-card": "Esta tarjeta vincula un teléfono. Acerque el teléfono a la tarjeta.",
    "taken-over": "Se ha iniciado otra cosa.",
  },
  faults: {
    "reader-failed": "{subject}: {why}",
    "database-failed": "{why}",
    "disk-full": "Solo quedan {kib} KiB libres para la carpeta de datos.",
    "saves-not-kept": "No se pueden guardar las partidas en {subject}: {why}",
    "saves-memory-full":
      "La memoria de las partidas, {subject}, está llena: termine el juego e inícielo de nuevo.",
    "players-unconfined":
      "Los reproductores no están aislados y podrían leer los secretos de este servicio: {why}",
    "data-damaged":
      "La partición de datos está dañada. Se puede leer, pero los cambios se perderán en el próximo arranque. Copie lo que necesite y grabe de nuevo la tarjeta SD.",
    "data-lost":
      "La partición de datos no se puede leer. Todo se perderá en el próximo arranque. Grabe de nuevo la tarjeta SD o pruebe otra.",
    "boot-unreadable": "La partición de arranque no se puede leer, así que tapdeck.conf no cuenta.",
    "update-not-kept":
      "La actualización a {subject} no se conservó: no arrancó, o no estuvo un minuto sin fallos. Vuelve a funcionar la versión anterior.",
    "service-restarted": "El vigilante reinició el servicio: {why}",
    "service-silent": "El vigilante no recibió respuesta: {why}",
    "machine-resetting": "El vigilante va a reiniciar este dispositivo: {why}",
    "machine-reset": "El vigilante reinició este dispositivo: {why}",
    "machine-reset-again": "El vigilante reinició este dispositivo {times} veces seguidas: {why}",
    "machine-unguarded": "Nada reinicia este dispositivo si se bloquea: {why}",
    "check-failed": "{why}",
    "reader-unknown": "{why}",
    "settings-invalid": "{why}",
    "reader-silent": "Ningún lector responde en {subject}, y no hay otro conectado: {why}",
    "imager-invalid": "En los ajustes de Raspberry Pi Imager (firstrun.sh): {why}",
    "override-invalid": "En el entorno o en tapdeck.conf: {why}",
    "conf-invalid": "En tapdeck.conf de la partición de arranque: {why}",
    "conf-file-missing":
      "{key} en tapdeck.conf nombra {subject}, y ese archivo no está en la partición de arranque.",
    "conf-reader-refused": "El lector {subject} de tapdeck.conf fue rechazado.",
    "cards-key-missing": "cards.key no está definido, así que no se puede comprobar ningún paquete.",
    "media-missing":
      "No hay medios en {subject}: la carpeta falta o está vacía, o su unidad no está conectada.",
    "media-silent": "No hay medios en {subject}: no respondió en {seconds} s.",
    "program-missing": "Falta el programa {subject}, que el lanzador {launcher} necesita para {systems}.",
    "mqtt-invalid": "{why}",
    "certificate-ends": "El certificado de {subject} caduca pronto (días restantes: {days}): renuévelo.",
    "certificate-ended": "El certificado de {subject} ha caducado: renuévelo.",
    "cards-refused": "Las tarjetas compartidas del servidor no se usan: {why}",
    "broker-absent":
      "Ningún bróker responde en {subject}, puerto {port}: compruebe mqtt.url y si el bróker funciona.",
    "broker-unknown":
      "Ningún bróker responde, porque el nombre {subject} no se conoce: compruebe mqtt.url y la red.",
    "broker-unreachable": "Sin conexión con el bróker: {why}",
    "broker-lost": "La conexión con el bróker se cortó.",
    "broker-silent":
      "El bróker cerró la conexión sin responder: si su puerto es uno con TLS, mqtt.url debe empezar por mqtts://.",
    "broker-silent-tls":
      "El bróker cerró la conexión sin responder: compruebe mqtt.certificate, mqtt.key y si el puerto es el de TLS.",
    "broker-not-mqtt":
      "La respuesta de {subject}, puerto {port}, no es MQTT: compruebe el puerto de mqtt.url; si es uno con TLS, empieza por mqtts://.",
    "broker-handshake":
      "El bróker interrumpió la negociación TLS ({why}): compruebe mqtt.certificate, mqtt.key y el puerto.",
    "broker-certificate-host":
      "El certificado del bróker es de otro equipo y no de {subject}: compruebe mqtt.url.",
    "broker-certificate-time":
      "El certificado del bróker no es válido ahora: compruebe el reloj de este dispositivo o renueve el certificado.",
    "broker-certificate-ends":
      "El certificado del bróker {subject} caduca pronto (días restantes: {days}): renuévelo en ese servidor.",
    "broker-certificate-untrusted":
      "El certificado del bróker no es de confianza ({why}): mqtt.ca debe nombrar la autoridad que lo firmó.",
    "broker-version": "El bróker no conoce MQTT 5: necesita al menos mosquitto 1.6.",
    "broker-password":
      "El bróker rechaza el nombre o la contraseña: compruebe mqtt.user y mqtt.password_file.",
    "broker-refuses":
      "El bróker rechaza este dispositivo: compruebe mqtt.user, mqtt.password_file y su lista de acceso.",
    "broker-refuses-name": "El bróker rechaza el nombre de este dispositivo: ponga otro mqtt.id.",
    "broker-refuses-topic":
      "El bróker rechaza {topic}: permita que este dispositivo escriba ahí en la lista de acceso del bróker, o ponga en mqtt.id el nombre de esa lista.",
    "broker-refuses-subscription": "El bróker rechaza la suscripción a {topic}: {why}",
    "broker-busy": "El bróker está ocupado.",
    "broker-ban": "El bróker ha vetado este dispositivo.",
    "broker-stopping": "El bróker se está apagando.",
    "broker-same-name":
      "El bróker cortó la conexión porque otro dispositivo tiene el mismo nombre: dé a cada uno su propio mqtt.id.",
    "broker-ended": "El bróker cortó la conexión (motivo {reason}).",
  },
};
