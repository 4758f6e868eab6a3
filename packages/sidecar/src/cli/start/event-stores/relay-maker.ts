import { TlsFiles, type TlsFilesOptions } from '@spock/discovery';
import { SpockError } from '@spock/protocol';
import { messageOf, systemClock } from '@spock/protocol/internal';

import { parseTcpAddress, type TcpAddress } from '../../client/sidecar-target.ts';
import { givenSettings } from '../../settings/settings.ts';
import { addressesIn, addressesOf, type StoreMaker, tokenIn } from './store-maker.ts';

const TLS_SETTINGS = ['eventsRelayCa', 'eventsRelayCert', 'eventsRelayKey'] as const;

export const relayMaker: StoreMaker = {
	settings: [
		...(['eventsRelayService', 'eventsRelayAddress', 'eventsRelayTokenFile', 'eventsRelayCompression'] as const),
		...TLS_SETTINGS,
	],
	tokenSetting: 'eventsRelayTokenFile',

	check(settings) {
		const { eventsRelayService: service, eventsRelayAddress: address } = settings;
		const { eventsRelayCert: cert, eventsRelayKey: key } = settings;
		if ((service.value === undefined) === (address.value === undefined)) {
			throw new Error(
				'--events-store relay needs --events-relay-service NAME or --events-relay-address ADDRESS, not both',
			);
		}
		if (cert.value !== undefined && key.value === undefined) throw new Error(`${cert.where} needs --events-relay-key`);
		if (key.value !== undefined && cert.value === undefined) throw new Error(`${key.where} needs --events-relay-cert`);
		if (address.value === undefined || addressOf(address.value, address.where).isTls) return;
		const given = TLS_SETTINGS.map((name) => settings[name]).find(({ value }) => value !== undefined);
		if (given !== undefined) throw new Error(`${given.where} needs tls://HOST:PORT in --events-relay-address`);
	},

	/** With a watch of its service: where the sidecar that it is connected to leaves, another is used. */
	async make(settings, { source, random, owner, ends }) {
		const { RelayStore } = await import('@spock/events/stores');
		const { eventsRelayAddress: address, eventsRelayTokenFile, eventsRelayCompression } = settings;
		const service = settings.eventsRelayService.value;
		const files = givenSettings(settings, {
			caFile: 'eventsRelayCa',
			certFile: 'eventsRelayCert',
			keyFile: 'eventsRelayKey',
		});
		const hasFiles = Object.keys(files).length > 0;
		let last = '';
		const choose = async (name: string): Promise<string> => {
			const addresses = await addressesOf(source, name);
			if (addresses.length === 0) throw new SpockError('UNAVAILABLE', `service "${name}" has no healthy instance`);
			// Each has a log of its own: the one that has the events so far stays the next one.
			if (!addresses.includes(last)) last = addresses[Math.floor(random() * addresses.length)] as string;
			return last;
		};
		const store = new RelayStore({
			owner,
			packs: eventsRelayCompression.value === 'auto',
			access: async () => {
				const text = service === undefined ? (address.value as string) : await choose(service);
				const { host, port, isTls } = addressOf(text, address.where);
				return {
					...{ host, port },
					tls: isTls || hasFiles ? secretsIn(files) : undefined,
					token: await tokenIn(eventsRelayTokenFile),
				};
			},
		});
		if (service !== undefined) {
			const watch = source.watch({ service }, { next: (snapshot) => store.addressesChanged(addressesIn(snapshot)) });
			ends.push(() => watch.stop());
		}
		return store;
	},
};

/** Read and checked anew for each connection: somebody else replaces them now and then. Throws UNAVAILABLE, which names the file. */
function secretsIn(tls: TlsFilesOptions['tls']): TlsFiles['secrets'] {
	try {
		return new TlsFiles({ tls, clock: systemClock, onEvent: undefined }).secrets;
	} catch (cause) {
		throw new SpockError('UNAVAILABLE', messageOf(cause), { cause });
	}
}

function addressOf(text: string, where: string): TcpAddress {
	try {
		return parseTcpAddress(text);
	} catch (cause) {
		throw new Error(`${where} must be HOST:PORT or tls://HOST:PORT, not ${text}`, { cause });
	}
}
