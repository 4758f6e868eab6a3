import { type KeyEntry, type KeyQuery, type KeySnapshot, type KeySource, SpockError } from '@spock/protocol';

import type { BackendSourceOptions } from '../src/backend-source.ts';
import {
	createSource,
	type FakeBackendSource,
	type Recorder,
	recorder,
	type ScriptedWatches,
	scriptedWatches,
} from './fake-backend-source.ts';

type KeyWatches = ScriptedWatches<KeyQuery, readonly KeyEntry[]>;

/** A source of keys over a backend whose answers the test gives. */
export interface FakeKeySource
	extends Pick<FakeBackendSource, 'clock' | 'source' | 'events'>,
		Pick<KeyWatches, 'watching' | 'last'> {
	readonly keys: KeySource;
}

/** Makes a {@link FakeKeySource}. */
export function fakeKeySource(options: Partial<BackendSourceOptions> = {}): FakeKeySource {
	const { watch: watchKey, watching, last }: KeyWatches = scriptedWatches();
	const { clock, source, events } = createSource(options, { watchKey });
	const { keys } = source;
	if (keys === undefined) throw new Error('a backend with keys makes a source with keys');
	return { clock, source, keys, watching, events, last };
}

/** An observer of keys that keeps what it is told. */
export type KeyRecorder = Recorder<KeySnapshot>;

/** Makes a recorder. */
export function keyRecorder(): KeyRecorder {
	return recorder<KeySnapshot>();
}

/** Consul cannot be reached. */
export const unavailable: SpockError = new SpockError('UNAVAILABLE', 'Consul is away');
