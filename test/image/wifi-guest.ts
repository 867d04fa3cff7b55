/** The router and the phone of the Wi-Fi suite: files for the guest, each with a radio of its own (`radio.c`). */

export const home = { name: 'Home & "Söhne"', password: "correct horse" };

/** The router has a secured network and an open one. The phone joins the board's access point, and shows its page. */
export const files = {
  "router.conf": `interface=wlan1
driver=nl80211
ssid=${home.name}
wpa=2
wpa_key_mgmt=WPA-PSK
rsn_pairwise=CCMP
wpa_passphrase=${home.password}
hw_mode=g
channel=1
bss=wlan1g
ssid=Guests
`,
  router: `#!/bin/sh
for name in wlan1 wlan1g; do ip addr flush dev $name 2>/dev/null; done
echo $$ >/run/serving.pid
hostapd -B -P /run/router.pid /run/router.conf || exit 1
ip addr add 192.168.50.1/24 dev wlan1
ip addr add 192.168.51.1/24 dev wlan1g
exec dnsmasq --keep-in-foreground --conf-file=/dev/null --port=0 --pid-file= --dhcp-leasefile=/run/router.leases \\
  --dhcp-range=192.168.50.10,192.168.50.99,1h --dhcp-range=192.168.51.10,192.168.51.99,1h
`,
  "three.conf": `interface=wlan1
driver=nl80211
ssid=Three
wpa=2
wpa_key_mgmt=SAE
ieee80211w=2
rsn_pairwise=CCMP
sae_password=${home.password}
hw_mode=g
channel=1
`,
  // WPA3 is on, and phones get no addresses while /run/no-dhcp exists.
  three: `#!/bin/sh
hostapd -B -P /run/router.pid /run/three.conf || exit 1
ip addr add 192.168.52.1/24 dev wlan1
echo $$ >/run/serving.pid
if [ -e /run/no-dhcp ]; then exec sleep 100000; fi
exec dnsmasq --keep-in-foreground --conf-file=/dev/null --port=0 --pid-file= --dhcp-leasefile=/run/router.leases \\
  --dhcp-range=192.168.52.10,192.168.52.99,1h
`,
  phone: `#!/bin/sh
# phone NAME PASSWORD COMMAND: joins the network, and runs the command with an address of it.
printf 'network={\\nssid="%s"\\npsk="%s"\\n}\\n' "$1" "$2" >/run/phone.conf
trap 'kill "$(cat /run/phone.pid)"' EXIT
wpa_supplicant -B -P /run/phone.pid -i wlan2 -c /run/phone.conf >/run/phone.log 2>&1
udhcpc -q -n -t 20 -T 2 -i wlan2 -s /run/phone-address >>/run/phone.log 2>&1 || { cat /run/phone.log; exit 1; }
sh -c "$3"
`,
  "phone-address": `#!/bin/sh
[ "$1" != bound ] || ip addr add "$ip/24" dev wlan2
[ "$1" != bound ] || ip route add default via "$router" dev wlan2
`,
};
