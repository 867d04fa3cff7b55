/** The Spanish explanations of the settings that only the file has, by their keys. */
export const spanishFileSettings = {
  "api.port": "El puerto del control y de esta página. Vale desde el próximo inicio.",
  "api.listen":
    'Las direcciones en las que escucha, como "127.0.0.1"; una lista vacía significa todas. Vale desde el próximo inicio.',
  "api.tls_port": "El puerto para TLS; 0 lo desactiva. Vale desde el próximo inicio.",
  "api.allow_launch":
    'Inicios por otras máquinas que abren una dirección como http://this-device:7497/l/SNES/Game.sfc: ninguno (false), todos (true), o solo lo que coincide por completo con uno de estos patrones, como ["SNES/.*"]. El propio dispositivo siempre puede. De varios comandos con ||, cada uno debe coincidir. Un texto con .., ^ o [[ nunca coincide. Un navegador pregunta antes una vez.',
  "api.allowed_hosts": "Otros nombres con los que navegadores y programas pueden llamar a este dispositivo.",
  "api.allowed_origins":
    'Sitios web que pueden usar el control de este dispositivo, como "https://deck.example".',
  "api.allow_anonymous_local":
    "Si los programas de todos los usuarios de este dispositivo pueden controlar el servicio cuando se ejecuta como root.",
  "api.anonymous":
    'Lo que se permite desde la red por TLS sin vincular: "none" nada, "look" mirar, "play" también iniciar y parar medios, "change" también tarjetas, reglas y ajustes. En la imagen, anonymous= de tapdeck.conf tiene prioridad.',
  "api.metrics":
    "Si GET /metrics muestra contadores y estados a Prometheus. Está apagado, porque en la mayoría de los dispositivos cualquiera puede mirar. Vale desde el próximo inicio.",
  "api.allow_v1_clients":
    "Si las aplicaciones que solo conocen el cifrado antiguo y más débil (versión 1) pueden vincularse por PIN. Quien robe más tarde la clave de un teléfono puede leer sesiones grabadas.",
  "systems.folders":
    'Carpetas de sistemas concretos que están en otro sitio, como { SNES = ["/games/snes"], PSX = ["/games/ps1", "/more/ps1"] }.',
  "systems.removable_folders":
    'Carpetas en las que aparecen memorias USB, como "/run/media/alex". Cada memoria es allí una carpeta de medios mientras está conectada. En la imagen es /media/usb.',
  "systems.prefer_regions":
    "Si varios archivos tienen el título de una tarjeta: las regiones preferidas, la mejor primero, como en los nombres de archivo.",
  "systems.prefer_languages": "Lo mismo para idiomas; las regiones van primero.",
  "script.allow_execute":
    "Comandos que las tarjetas pueden ejecutar con **execute: patrones para toda la línea. Una lista vacía significa ninguno.",
  "script.allow_http":
    "Direcciones que las tarjetas pueden llamar con **http.get y **http.post: patrones para toda la dirección. Una lista vacía significa ninguna.",
  "script.allow_stream":
    'Servidores cuya radio y podcasts suenan con una dirección en la tarjeta: "radio.example.org", todos los de un dominio como "*.example.org", o con puerto. Un equipo de su red debe nombrarse sin asterisco. Una lista vacía significa ninguno.',
  "script.allow_input":
    "Si tarjetas y otros pueden pulsar teclas de un teclado y un mando virtuales. Llegan a la ventana activa, incluso a una terminal.",
  "retroarch.resume":
    "Si un juego continúa donde terminó: su final guarda el estado y el próximo inicio lo carga. Una tarjeta lo cambia con ?resume=no o ?resume=yes.",
  "retroarch.saves":
    "La carpeta de partidas guardadas. Con ella, un corte de luz deja cada archivo como antes o después de un cambio, con diez segundos como máximo. Sin ella deciden los ajustes de RetroArch.",
  "light.brightness":
    "El brillo máximo de las luces de la carcasa, en porcentaje; con 0 quedan apagadas. Son los LED del núcleo cuyo nombre empieza por tapdeck.",
  "hooks.on_scan":
    "Scripts que se ejecutan en torno a sus tarjetas; uno vacío no hace nada. Si falla, el registro lo dice y no pasa nada más, salvo con before_start. Este se ejecuta cuando se pone una tarjeta.",
  "hooks.on_remove": "Se ejecuta cuando se quita una tarjeta.",
  "hooks.before_start": "Se ejecuta antes de iniciar medios, que lo esperan; si falla, no se inicia nada.",
  "hooks.on_start": "Se ejecuta después de iniciar medios.",
  "hooks.on_stop": "Se ejecuta cuando los medios han terminado.",
  "mqtt.url":
    'La dirección de un bróker MQTT, como "mqtts://broker.lan:8883" o "mqtt://192.168.1.5"; vacía significa ninguno. El bróker recibe lo que ocurre aquí, también textos y UID de tarjetas.',
  "mqtt.user": "El nombre de la cuenta de este dispositivo en el bróker.",
  "mqtt.password_file":
    'Un archivo con la contraseña de esa cuenta, como "mqtt-password" en la carpeta de datos, o una ruta completa.',
  "mqtt.ca":
    "Los certificados (PEM) con los que se comprueba el del bróker; vacío significa los del sistema.",
  "mqtt.id":
    "El nombre de este dispositivo en los temas: letras, dígitos, - y _. Vacío significa el nombre del dispositivo. Dos dispositivos necesitan dos nombres.",
  "mqtt.role":
    'Lo que pueden las órdenes del bróker: "player" mirar, iniciar y parar; "member" también tarjetas, reglas y ajustes; "owner" también administrar el dispositivo: reiniciar, actualizar, hacer copias y vincular teléfonos.',
  "mqtt.discovery":
    "El prefijo con el que el dispositivo se describe a Home Assistant; vacío significa que no lo hace.",
  "mqtt.certificate":
    'Un certificado de cliente (PEM) para el bróker, como "mqtt-certificate.pem" en la carpeta de datos, o una ruta completa.',
  "mqtt.key": "Su clave, como mqtt-key.pem.",
  "mqtt.base": 'La primera parte de todos los temas: "tapdeck" da tapdeck/<id>/tap y así sucesivamente.',
  "cards.url":
    'La dirección de un paquete de reglas, lanzadores y límites compartidos, como "https://cards.example/all.cards". Se lee cada hora; los ajustes y reglas de este dispositivo van primero. Esta sección vale desde el próximo inicio.',
  "cards.key":
    "La clave pública con la que debe estar firmado el paquete. Su dueño puede iniciar cualquier programa en este dispositivo.",
  "cards.ca_file":
    'Una autoridad (PEM) que también puede firmar el certificado del servidor, como "cards-ca.pem" en la carpeta de datos, o una ruta completa.',
  "update.url":
    'La dirección de un índice de versiones, como "https://updates.example/index.json"; vacía significa ninguno. Se lee cada día. Una versión más nueva se instala cuando no se reproduce nada y no hubo tarjetas en diez minutos. Solo para la imagen; fleet.hawkbit_url tiene prioridad. Vale desde el próximo inicio.',
  "fleet.hawkbit_url":
    'La dirección de un servidor hawkBit que actualiza este dispositivo, como "https://updates.example"; una ruta nombra otro inquilino que DEFAULT. Vacía significa ninguno. Esta sección vale desde el próximo inicio.',
  "fleet.id":
    "El nombre de este dispositivo allí (controllerId): letras, dígitos, - y _. Vacío significa el nombre del dispositivo.",
  "fleet.token_file":
    'Un archivo con el token de seguridad de este objetivo, como "hawkbit-token" en la carpeta de datos, o una ruta completa. Sin él, al servidor debe bastarle el certificado de cliente.',
  "fleet.certificate_file":
    'Un certificado de cliente (PEM) para ese servidor y el de update.url, como "fleet-certificate.pem", o una ruta completa.',
  "fleet.key_file": "Su clave, como fleet-key.pem.",
  "fleet.ca_file":
    "La autoridad (PEM) que debe haber firmado el certificado de hawkBit; vacío significa las del sistema.",
  "fleet.interrupt": "Si un despliegue forzado de hawkBit puede terminar lo que se reproduce. Si no, espera.",
  "device.site": 'El lugar de este dispositivo, como "library-north"; las métricas lo muestran.',
};
