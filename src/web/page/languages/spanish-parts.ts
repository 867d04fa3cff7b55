/** Buttons, the picture of the screen, the broker and backups in Spanish. */
import type { PageTexts } from "./english.ts";
import type { Numbers } from "./forms.ts";

type Parts = Pick<PageTexts, "buttons" | "picture" | "broker" | "backup" | "share">;

export const spanishParts = ({
  counted,
  moment,
  number,
}: Pick<Numbers, "counted" | "moment" | "number">): Parts => ({
  buttons: {
    how: "Los botones de la caja, las ruedas y los teclados inician algo, como una tarjeta.",
    none: "Aún no se ha enseñado ningún botón.",
    add: "Añadir un botón",
    pressNow: "Pulse ahora el botón o gire la rueda.",
    pressHow:
      "Durante medio minuto el dispositivo escucha todo lo que está conectado. Solo cuenta la primera pulsación.",
    nonePressed: "No se pulsó ningún botón.",
    choose: "¿Qué hace este botón?",
    everyDevice: "cualquier dispositivo",
    chooseFor: (name) => `Que el botón inicie ${name}`,
    saveText: "Guardar para el botón",
    removed: (key) => `${key} ya no hace nada.`,
  },
  picture: {
    title: "Imagen de la pantalla",
    what: "Lo que muestra ahora el televisor. Sin pantalla no hay ninguna mientras no se reproduce nada. Cada imagen se guarda también en el dispositivo.",
    take: "Tomar una imagen",
    again: "Tomar otra",
    alt: "Lo que muestra el dispositivo",
    takenAt: (time) => `Tomada a las ${time}.`,
  },
  broker: {
    title: "Broker MQTT",
    what: "Home Assistant y otros programas se enteran allí de las tarjetas y controlan este dispositivo.",
    url: "Dirección",
    user: "Cuenta",
    password: "Contraseña",
    kept: "guardada, vacía la deja",
    ca: "Certificado de su autoridad (PEM), solo para mqtts://",
    role: "Qué puede hacer aquí",
    roleWhat:
      "Un jugador inicia y detiene medios, y basta para Home Assistant. Un miembro también cambia tarjetas y ajustes. Un propietario también reinicia y actualiza este dispositivo: solo si nadie más puede escribir en ese broker.",
    save: "Guardar",
    test: "Probar",
    testing: "Conectando…",
    connected: "Conectado.",
    trying: "Todavía sin conexión.",
    unconnected: "Guardado, pero sin conexión.",
    none: "No hay ningún broker.",
    byImage: "El archivo tapdeck.conf de la tarjeta de memoria fija el broker.",
    wrong: "Escriba la dirección del broker, por ejemplo 192.168.1.5 o mqtt://homeassistant.local:1883.",
    faults: {
      "broker-absent":
        "Nada responde en {subject}, puerto {port}. Compruebe la dirección y si el broker funciona.",
      "broker-unknown":
        "No hay ningún {subject} en la red. Compruebe la dirección, o escriba la del equipo en números, por ejemplo 192.168.1.5.",
      "broker-silent":
        "El broker cierra la conexión sin responder. Su puerto suele ser 1883, u 8883 si la dirección empieza por mqtts://.",
      "broker-silent-tls":
        "El broker cierra la conexión sin responder. Si su puerto no tiene TLS, la dirección debe empezar por mqtt://.",
      "broker-not-mqtt":
        "La respuesta de {subject}, puerto {port}, no es MQTT. El puerto suele ser 1883, u 8883 si la dirección empieza por mqtts://.",
      "broker-certificate-host":
        "El certificado del broker es de otro equipo y no de {subject}. Compruebe la dirección.",
      "broker-certificate-untrusted":
        "El certificado del broker no es de confianza. Elija el de su autoridad en «Para expertos».",
      "broker-password": "El broker rechaza la cuenta o su contraseña.",
      "broker-refuses":
        "El broker rechaza este dispositivo. Compruebe la cuenta, su contraseña y la lista de acceso del broker.",
    },
  },
  backup: {
    title: "Copia de seguridad",
    what: "Un archivo con los ajustes, las reglas, el historial y las posiciones; con una frase de contraseña, también los teléfonos y las claves. Sin medios ni partidas guardadas.",
    passphrase: "Frase de contraseña (opcional)",
    download: "Descargar una copia",
    made: "La copia está lista y se descarga.",
    choose: "Restaurar una copia",
    restore: "Restaurar esta copia",
    restoreSure:
      "La reproducción termina y el servicio se reinicia. El estado actual queda como copia en el dispositivo.",
    restored: "La copia está restaurada. El servicio se reinicia.",
    madeAt: (time, version) => `Creada el ${moment(time)} por Tapdeck ${version}.`,
    insteadOf: (count, now) => `${number(count)} en lugar de ${number(now)}`,
    mappings: "Reglas",
    mappingFiles: "Archivos de reglas",
    history: "Tarjetas leídas",
    positions: "Posiciones",
    settings: "Ajustes que cambian",
    same: "sin cambios",
    locked: "solo con la frase de contraseña",
    warning: "Nota",
    leftOut: (count) =>
      `${counted(count, "archivo de reglas ilegible", "archivos de reglas ilegibles")}, fuera de la copia.`,
    notes: {
      "mapping-file-invalid": (file) => `El archivo de reglas ${file} tiene un error y no se usa.`,
      "settings-kept": (names) => `Solo una restauración en el propio dispositivo cambia esto: ${names}.`,
      "media-folder-missing": (path) => `Este dispositivo no tiene la carpeta de medios ${path}.`,
      "reader-missing": (path) => `Este dispositivo no tiene ningún lector en ${path}.`,
    },
  },
  share: {
    title: "Copiar archivos desde un PC",
    off: "Los PC no pueden copiar nada a este aparato hasta que pongas una contraseña.",
    starting: "Se está iniciando la carpeta compartida…",
    on: "Los PC de esta red pueden abrir la carpeta de medios, con cualquier nombre de usuario y la contraseña.",
    fault:
      "La carpeta compartida está desactivada porque su servidor no funciona: ponga la contraseña otra vez.",
    windows: "Windows: {place}",
    others: "Mac, Linux, teléfono: {place}",
    password: "Contraseña, de 8 a 63 caracteres",
    switchOn: "Activar",
    change: "Cambiar la contraseña",
    switchOff: "Desactivar",
    offAsk: "¿Desactivar la carpeta compartida?",
    ends: "Se cortará la conexión de los PC que estén copiando.",
  },
});
