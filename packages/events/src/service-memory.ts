import type { LogMemory } from './foundation/event-log.ts';
import type { ReplayedRecord } from './foundation/log-record.ts';

/** All that remembers what the records of one log say, each under a name in the checkpoint. Of a name that is unknown nothing is restored. */
export class ServiceMemory implements LogMemory {
	/** Set before the log is opened. */
	parts: Readonly<Record<string, LogMemory>> = {};

	checkpoint(): string {
		const parts = Object.entries(this.parts).map(([name, part]) => `"${name}":${part.checkpoint()}`);
		return `{${parts.join()}}`;
	}

	restore(checkpoint: string): void {
		const saved = JSON.parse(checkpoint) as Record<string, unknown>;
		for (const [name, part] of Object.entries(this.parts)) {
			if (saved[name] !== undefined) part.restore(JSON.stringify(saved[name]));
		}
	}

	replay(record: ReplayedRecord, isKnown: boolean): void {
		for (const name in this.parts) this.parts[name]?.replay(record, isKnown);
	}
}
