import { encodeEvent } from '@spock/protocol';

import type { LogEvent } from '../src/index.ts';

/** New events of streams, as their log would number them: one by one in each. */
export class LogEvents {
	readonly #lasts = new Map<string, number>();

	/** The next one of the stream is behind this position. */
	startAt(stream: string, position: number): void {
		this.#lasts.set(stream, position);
	}

	make(stream: string, payload: unknown, key = 'k', id?: string): LogEvent {
		const position = (this.#lasts.get(stream) ?? 0) + 1;
		this.#lasts.set(stream, position);
		const text = encodeEvent({ stream, key, id, payload });
		const origin = { kind: 'event', producer: 'p', epoch: 1, seq: position } as const;
		return { ...origin, stream, key, id, text, position, time: Date.now() };
	}

	/** So many, of some keys, whose payloads are their positions. */
	many(stream: string, count: number): readonly LogEvent[] {
		return Array.from({ length: count }, () => {
			const payload = (this.#lasts.get(stream) ?? 0) + 1;
			return this.make(stream, payload, `k${payload % 7}`);
		});
	}
}
