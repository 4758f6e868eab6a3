import { type OpenProducerData, SpockError } from '@spock/protocol';

import type { LineOrigin } from '../foundation/event-sessions.ts';
import type { Producer } from './producer.ts';
import { gapsError, overError } from './producer-table.ts';

/** Producers that wait until their epoch is on disk. */
export const OPENINGS_MAX = 1024;

interface WaitingOpening {
	/** Of the note that must be on disk. */
	readonly position: number;
	readonly resolve: () => void;
	readonly reject: (error: SpockError) => void;
}

/** An epoch that begins. */
export interface NewEpoch {
	readonly name: string;
	readonly epoch: number;
	/** It goes on behind this. */
	readonly persisted: number;
	readonly gaps: boolean;
}

/** What comes of an `openProducer`. */
export interface Opening {
	/** What the producer was told to be persisted. */
	readonly told: number;
	/** Absent: the known epoch goes on. */
	readonly begins?: NewEpoch;
	/** It was told more than the log knows, which is up to here. */
	readonly logLost?: number;
}

/** Decides it. `known`: the last epoch of the name. Throws BAD_REQUEST. */
export function judgeOpening(
	{ producer: name, epoch, gaps = false, ...data }: OpenProducerData,
	known: Producer | undefined,
	origin: LineOrigin | undefined,
): Opening {
	// It would end the epoch that its own client goes on with.
	if (epoch === undefined && known?.isOpenedAfter(origin) === true) throw overError(known);
	if (epoch === undefined) return { told: 0, begins: { name, epoch: (known?.epoch ?? 0) + 1, persisted: 0, gaps } };
	if (known !== undefined && epoch < known.epoch) throw overError(known);
	const same = known?.epoch === epoch ? known : undefined;
	if (same !== undefined && same.hasGaps !== gaps) throw gapsError(same);
	// Who may leave gaps would leave one here, and hide what was lost.
	const told = gaps ? 0 : (data.persisted ?? 0);
	if (same !== undefined && told <= same.appended) return { told };
	const begins = { name, epoch, persisted: told, gaps };
	return gaps ? { told, begins } : { told, begins, logLost: same?.appended ?? 0 };
}

/** Producers whose epoch begins, in the order of their notes. */
export class Openings {
	readonly #openings: WaitingOpening[] = [];

	get count(): number {
		return this.#openings.length;
	}

	/** Throws OVERLOADED where one more would be too many. */
	admit(): void {
		if (this.#openings.length < OPENINGS_MAX) return;
		const message = `${OPENINGS_MAX} producers wait until they are on disk: try again later`;
		throw new SpockError('OVERLOADED', message, { details: { openingsMax: OPENINGS_MAX }, isStackless: true });
	}

	/** Resolves with what `open` gives, called in the tick in which the note is on disk. */
	wait<Opened>(position: number, open: () => Opened): Promise<Opened> {
		return new Promise((resolve, reject) => {
			const settle = (): void => {
				try {
					resolve(open());
				} catch (error) {
					reject(error);
				}
			};
			this.#openings.push({ position, resolve: settle, reject });
		});
	}

	committed(persisted: number): void {
		let count = 0;
		for (const { position } of this.#openings) {
			if (position >= persisted) break;
			count++;
		}
		if (count > 0) for (const { resolve } of this.#openings.splice(0, count)) resolve();
	}

	reject(error: SpockError): void {
		for (const { reject } of this.#openings.splice(0)) reject(error);
	}
}
