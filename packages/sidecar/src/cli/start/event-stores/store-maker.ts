import { readFile } from 'node:fs/promises';

import type { EventStore } from '@spock/events';
import { isServing, type ServiceSnapshot, type ServiceSource, SpockError } from '@spock/protocol';
import { formatAddress } from '@spock/protocol/node';

import type { EventsContext } from '../../../lifecycle/sidecar-options.ts';
import type { Settings } from '../../settings/settings.ts';

/** How long a store waits for the registry. */
const LOOKUP_TIMEOUT_MS = 5000;
/** What a token may consist of, because it is sent in a header or a line. */
const TOKEN = /^[\x20-\x7e]+$/;

type TokenSetting = 'eventsHttpTokenFile' | 'eventsNatsTokenFile' | 'eventsRelayTokenFile';

/** One kind of stores elsewhere. */
export interface StoreMaker {
	/** What only this store needs. */
	readonly settings: readonly (keyof Settings)[];
	/** That of its token. */
	readonly tokenSetting: TokenSetting;
	/** Throws an Error that names what is missing, or does not go together. */
	check(settings: Settings): void;
	make(settings: Settings, context: StoreContext): Promise<EventStore>;
}

export interface StoreContext extends Pick<EventsContext, 'source' | 'random'> {
	/** Of the log, among all that write there. */
	readonly owner: string;
	/** What is to be done when the sidecar ends. */
	readonly ends: (() => void)[];
}

/**
 * The token in the file that a setting names; undefined where it names none. Read anew for each connection, because it may be replaced.
 * Rejects with UNAVAILABLE, which names the setting and the file.
 */
export async function tokenIn({ value: file, where }: Settings[TokenSetting]): Promise<string | undefined> {
	if (file === undefined) return undefined;
	const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
		const message = `${where}: the token file ${file} cannot be read: ${cause.code ?? cause.message}`;
		throw new SpockError('UNAVAILABLE', message, { cause });
	});
	const token = text.trim();
	if (TOKEN.test(token)) return token;
	if (token !== '') {
		const message = `${where}: the token file ${file} must contain one token of printable ASCII characters`;
		throw new SpockError('UNAVAILABLE', message);
	}
	throw new SpockError('UNAVAILABLE', `${where}: the token file ${file} is empty`);
}

/** Of the healthy instances, as host:port. Rejects with UNAVAILABLE, as a name that the registry refuses says nothing of an event. */
export async function addressesOf(source: ServiceSource, service: string): Promise<readonly string[]> {
	const snapshot = await source.get({ service }, { timeoutMs: LOOKUP_TIMEOUT_MS }).catch((cause: unknown) => {
		const { message } = SpockError.from(cause);
		throw new SpockError('UNAVAILABLE', `service "${service}" cannot be looked up: ${message}`, { cause });
	});
	return addressesIn(snapshot);
}

export function addressesIn({ instances }: ServiceSnapshot): readonly string[] {
	return instances.filter(isServing).map(({ host, port }) => formatAddress({ host, port }));
}
