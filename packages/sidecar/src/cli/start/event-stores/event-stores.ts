import type { EventStore } from '@spock/events';
import type { MakeForwarding } from '@spock/events/forward';
import { SpockError } from '@spock/protocol';
import { nameHint } from '@spock/protocol/internal';

import type { EventsContext } from '../../../lifecycle/sidecar-options.ts';
import type { Settings } from '../../settings/settings.ts';
import { httpMaker } from './http-maker.ts';
import { jetStreamMaker } from './jetstream-maker.ts';
import { relayMaker } from './relay-maker.ts';
import { type StoreMaker, tokenIn } from './store-maker.ts';

type StoreKind = Settings['eventsStore']['value'];
type KindElsewhere = Exclude<StoreKind, 'embedded'>;

const MAKERS: Readonly<Record<KindElsewhere, StoreMaker>> = {
	http: httpMaker,
	jetstream: jetStreamMaker,
	relay: relayMaker,
};
const KINDS: readonly StoreKind[] = ['embedded', ...(Object.keys(MAKERS) as KindElsewhere[])];

/** Streams that do not stay in the log, for a sidecar that is being made. */
export interface StoresElsewhere {
	readonly forwarding: MakeForwarding;
	close(): Promise<void>;
}

/**
 * What the settings say of stores elsewhere; undefined if all streams stay in the log. Throws an Error that names a wrong setting. A file of a
 * token that cannot be read may come later, so that is reported to `unusable`, and again as a failure of the store at its use.
 */
export async function storesElsewhere(
	settings: Settings,
	unusable: (store: string, error: Error) => void = () => undefined,
): Promise<((context: EventsContext) => StoresElsewhere) | undefined> {
	const { eventsStore, eventsStoreStreams } = settings;
	const ownKinds = kindsByStream(settings);
	const used = new Set([eventsStore.value, ...ownKinds.values()].filter((kind) => kind !== 'embedded'));
	for (const kind of Object.keys(MAKERS) as KindElsewhere[]) {
		const idle = MAKERS[kind].settings.find((name) => settings[name].origin !== 'default');
		if (!used.has(kind) && idle !== undefined) {
			throw new Error(`${settings[idle].where} needs --events-store ${kind}, or --events-store-of STREAM=${kind}`);
		}
	}
	for (const kind of used) {
		MAKERS[kind].check(settings);
		await tokenIn(settings[MAKERS[kind].tokenSetting]).catch((error: Error) => unusable(kind, error));
	}
	if (eventsStore.value === 'embedded' && eventsStoreStreams.origin !== 'default') {
		throw new Error(`${eventsStoreStreams.where} needs --events-store`);
	}
	if (used.size === 0) return undefined;
	const [{ forwardTo }, stores] = await Promise.all([import('@spock/events/forward'), import('@spock/events/stores')]);
	if (used.has('jetstream')) await stores.loadNats();
	const streams = eventsStoreStreams.value && new Set(eventsStoreStreams.value);
	const kindOf = (stream: string): StoreKind =>
		ownKinds.get(stream) ?? (streams === undefined || streams.has(stream) ? eventsStore.value : 'embedded');
	return ({ source, random }) => {
		const ends: (() => void)[] = [];
		const storesFor = (owner: string): ReadonlyMap<StoreKind, EventStore> =>
			new Map(
				[...used].map((kind) => [
					kind,
					new stores.DeferredStore(kind, async () => {
						if (owner === '') throw new SpockError('UNAVAILABLE', 'the log has no name yet; try again');
						return MAKERS[kind].make(settings, { source, random, owner, ends });
					}),
				]),
			);
		let byKind = storesFor('');
		let known = '';
		const close = async (): Promise<void> => {
			for (const end of ends.splice(0)) end();
			await Promise.all([...byKind.values()].map((store) => store.close()));
		};
		return {
			forwarding: forwardTo({
				storeOf: (stream) => byKind.get(kindOf(stream)),
				identified: (logId) => {
					if (logId === known) return;
					known = logId;
					// The log that was lost had another name, and its forwarders have ended.
					void close();
					byKind = storesFor(logId);
				},
			}),
			close,
		};
	};
}

/** The streams with a store of their own. Throws an Error that names what is wrong. */
function kindsByStream({ eventsStoreOf: { value: pairs = [], where } }: Settings): ReadonlyMap<string, StoreKind> {
	const kinds = new Map<string, StoreKind>();
	for (const pair of pairs) {
		const [, stream, word = ''] = /^([^=]+)=(.*)$/.exec(pair) ?? [];
		if (stream === undefined) throw new Error(`${where} must be STREAM=STORE, not ${pair}`);
		const kind = KINDS.find((one) => one === word);
		if (kind === undefined && KINDS.some((one) => word.startsWith(`${one}:`))) {
			const rule = `names more than a kind of store, which is one of ${KINDS.join(', ')}`;
			throw new Error(`${where}: "${word}" of stream "${stream}" ${rule}: a sidecar has one store of each kind`);
		}
		if (kind === undefined)
			throw new Error(`${where}: unknown store "${word}" of stream "${stream}"; ${nameHint(word, KINDS)}`);
		if (kinds.has(stream)) throw new Error(`${where} names the stream "${stream}" twice`);
		kinds.set(stream, kind);
	}
	return kinds;
}
