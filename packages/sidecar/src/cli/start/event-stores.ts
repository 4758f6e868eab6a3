import { readFile } from 'node:fs/promises';

import type { EventStore } from '@spock/events';
import type { MakeForwarding } from '@spock/events/forward';
import { isServing, type ServiceSnapshot, type ServiceSource, SpockError } from '@spock/protocol';
import { formatAddress } from '@spock/protocol/node';

import type { EventsContext } from '../../lifecycle/sidecar-options.ts';
import { parseTcpAddress, type TcpAddress } from '../client/sidecar-target.ts';
import type { Settings } from '../settings/settings.ts';

type StoreKind = Exclude<Settings['eventsStore']['value'], 'embedded'>;

/** What only one store needs. */
const SETTINGS_OF: Readonly<Record<StoreKind, readonly (keyof Settings)[]>> = {
	http: ['eventsHttpUrl', 'eventsHttpService', 'eventsHttpTokenFile'],
	jetstream: ['eventsNatsService', 'eventsNatsServers', 'eventsNatsTokenFile', 'eventsNatsReplicas'],
	relay: [
		'eventsRelayService',
		'eventsRelayAddress',
		'eventsRelayTokenFile',
		'eventsRelayCa',
		'eventsRelayCompression',
	],
};
/** How long a store waits for the registry. */
const LOOKUP_TIMEOUT_MS = 5000;

/** Streams that do not stay in the log, for a sidecar that is being made. */
export interface StoresElsewhere {
	readonly forwarding: MakeForwarding;
	close(): Promise<void>;
}

interface StoreContext extends Pick<EventsContext, 'source' | 'random'> {
	/** Of the log, among all that write there. */
	readonly owner: string;
	/** What is to be done when the sidecar ends. */
	readonly ends: (() => void)[];
}

/** What the settings say of a store elsewhere; undefined if all streams stay in the log. Throws an Error that names a wrong setting. */
export async function storesElsewhere(
	settings: Settings,
): Promise<((context: EventsContext) => StoresElsewhere) | undefined> {
	const kind = settings.eventsStore.value;
	for (const [other, names] of Object.entries(SETTINGS_OF)) {
		const idle = names.find((name) => settings[name].origin !== 'default');
		if (other !== kind && idle !== undefined) throw new Error(`${settings[idle].where} needs --events-store ${other}`);
	}
	if (kind === 'embedded') {
		const { origin, where } = settings.eventsStoreStreams;
		if (origin !== 'default') throw new Error(`${where} needs --events-store`);
		return undefined;
	}
	check(settings, kind);
	const [{ forwardTo }, stores] = await Promise.all([import('@spock/events/forward'), import('@spock/events/stores')]);
	if (kind === 'jetstream') await stores.loadNats();
	const streams = settings.eventsStoreStreams.value && new Set(settings.eventsStoreStreams.value);
	return ({ source, random }) => {
		const make = MAKERS[kind];
		const ends: (() => void)[] = [];
		const storeFor = (owner: string): EventStore =>
			new stores.DeferredStore(kind, async () => {
				if (owner === '') throw new SpockError('UNAVAILABLE', 'the log has no name yet; try again');
				return make(settings, { source, random, owner, ends });
			});
		let store = storeFor('');
		let known = '';
		const close = async (): Promise<void> => {
			for (const end of ends.splice(0)) end();
			await store.close();
		};
		return {
			forwarding: forwardTo({
				storeOf: (stream) => (streams === undefined || streams.has(stream) ? store : undefined),
				identified: (logId) => {
					if (logId === known) return;
					known = logId;
					// The log that was lost had another name, and its forwarders have ended.
					void close();
					store = storeFor(logId);
				},
			}),
			close,
		};
	};
}

/** What a store cannot do without. */
function check(settings: Settings, kind: StoreKind): void {
	if (kind === 'http') {
		const { eventsHttpUrl: url, eventsHttpService: service } = settings;
		if (url.value === undefined) throw new Error('--events-store http needs --events-http-url URL');
		if (!URL.canParse(filled(url.value, 'host:1')) || !/^https?:/i.test(url.value)) {
			throw new Error(`${url.where} must be an http or https URL, not ${url.value}`);
		}
		const hasAddress = url.value.includes('{address}');
		if (hasAddress && service.value === undefined)
			throw new Error(`{address} in ${url.where} needs --events-http-service NAME`);
		if (!hasAddress && service.value !== undefined) {
			throw new Error(`${service.where} needs {address} in --events-http-url, such as http://{address}/events`);
		}
		return;
	}
	if (kind === 'relay') {
		const { eventsRelayService: service, eventsRelayAddress: address, eventsRelayCa: ca } = settings;
		if ((service.value === undefined) === (address.value === undefined)) {
			throw new Error(
				'--events-store relay needs --events-relay-service NAME or --events-relay-address ADDRESS, not both',
			);
		}
		if (address.value !== undefined && !addressOf(address.value, address.where).isTls && ca.value !== undefined) {
			throw new Error(`${ca.where} needs tls://HOST:PORT in --events-relay-address`);
		}
		return;
	}
	const { eventsNatsService: service, eventsNatsServers: servers } = settings;
	if ((service.value === undefined) === (servers.value === undefined)) {
		throw new Error(
			'--events-store jetstream needs --events-nats-service NAME or --events-nats-servers ADDRESSES, not both',
		);
	}
}

async function httpStore(settings: Settings, { source, random, owner }: StoreContext): Promise<EventStore> {
	const { HttpStore } = await import('@spock/events/stores');
	const [url, service, tokenFile] = [
		settings.eventsHttpUrl.value as string,
		settings.eventsHttpService.value,
		settings.eventsHttpTokenFile.value,
	];
	return new HttpStore({
		owner,
		url: async () => {
			if (service === undefined) return url;
			const addresses = await addressesOf(source, service);
			if (addresses.length === 0) throw new SpockError('UNAVAILABLE', `service "${service}" has no healthy instance`);
			return filled(url, addresses[Math.floor(random() * addresses.length)] as string);
		},
		headers: async () => (tokenFile === undefined ? {} : { authorization: `Bearer ${await tokenIn(tokenFile)}` }),
	});
}

/** With a watch of its servers: when the connected one leaves, another is used. */
async function jetStreamStore(settings: Settings, { source, owner, ends }: StoreContext): Promise<EventStore> {
	const { JetStreamStore } = await import('@spock/events/stores');
	const service = settings.eventsNatsService.value;
	const tokenFile = settings.eventsNatsTokenFile.value;
	const token = tokenFile === undefined ? undefined : await tokenIn(tokenFile);
	const servers = settings.eventsNatsServers.value ?? [];
	const store = new JetStreamStore({
		owner,
		replicas: settings.eventsNatsReplicas.value,
		servers: async () => (service === undefined ? servers : await addressesOf(source, service)),
		...(token !== undefined && { credentials: { token } }),
	});
	if (service !== undefined) {
		// Where there is no snapshot, the connect that needs one fails, and is reported as a failure of the store.
		const watch = source.watch({ service }, { next: (snapshot) => store.serversChanged(addressesIn(snapshot)) });
		ends.push(() => watch.stop());
	}
	return store;
}

/** With a watch of its service: where the sidecar that it is connected to leaves, another is used. */
async function relayStore(settings: Settings, { source, random, owner, ends }: StoreContext): Promise<EventStore> {
	const { RelayStore } = await import('@spock/events/stores');
	const { eventsRelayService, eventsRelayAddress, eventsRelayTokenFile, eventsRelayCa } = settings;
	const [service, address] = [eventsRelayService.value, eventsRelayAddress.value];
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
		packs: settings.eventsRelayCompression.value === 'auto',
		access: async () => {
			const [tokenFile, caFile] = [eventsRelayTokenFile.value, eventsRelayCa.value];
			const text = service === undefined ? (address as string) : await choose(service);
			const { host, port, isTls } = addressOf(text, eventsRelayAddress.where);
			const ca = caFile === undefined ? undefined : await readFile(caFile, 'utf8');
			return {
				...{ host, port },
				tls: isTls || ca !== undefined ? { ca } : undefined,
				token: tokenFile === undefined ? undefined : await tokenIn(tokenFile),
			};
		},
	});
	if (service !== undefined) {
		const watch = source.watch({ service }, { next: (snapshot) => store.addressesChanged(addressesIn(snapshot)) });
		ends.push(() => watch.stop());
	}
	return store;
}

const MAKERS = { http: httpStore, jetstream: jetStreamStore, relay: relayStore } as const;

function addressOf(text: string, where: string): TcpAddress {
	try {
		return parseTcpAddress(text);
	} catch (cause) {
		throw new Error(`${where} must be HOST:PORT or tls://HOST:PORT, not ${text}`, { cause });
	}
}

function filled(url: string, address: string): string {
	return url.replaceAll('{address}', address);
}

async function tokenIn(file: string): Promise<string> {
	return (await readFile(file, 'utf8')).trim();
}

/** Of the healthy instances, as host:port. Rejects with UNAVAILABLE, as a name that the registry refuses says nothing of an event. */
async function addressesOf(source: ServiceSource, service: string): Promise<readonly string[]> {
	const snapshot = await source.get({ service }, { timeoutMs: LOOKUP_TIMEOUT_MS }).catch((cause: unknown) => {
		const { message } = SpockError.from(cause);
		throw new SpockError('UNAVAILABLE', `service "${service}" cannot be looked up: ${message}`, { cause });
	});
	return addressesIn(snapshot);
}

function addressesIn({ instances }: ServiceSnapshot): readonly string[] {
	return instances.filter(isServing).map(({ host, port }) => formatAddress({ host, port }));
}
