import { writeSync } from 'node:fs';

import { systemClock } from '@spock/protocol/internal';

import { EventLog, NodeFiles, NodeOwner } from '../src/index.ts';

/** A process that appends without end, and writes to its output what was told to be on disk. Its argument is the directory. */
const [, , directory = ''] = process.argv;
const log: EventLog = new EventLog({
	directory,
	files: new NodeFiles(),
	owner: new NodeOwner(directory),
	clock: systemClock,
	memory: { checkpoint: () => '{}', restore: () => undefined, replay: () => undefined },
	limits: { segmentBytes: 256 * 1024, freeBytesMin: 0 },
	listener: {
		committed: (persisted) => void writeSync(1, `${persisted}\n`),
		stateChanged: () => undefined,
		windows: () => undefined,
		damaged: () => undefined,
		failed: () => undefined,
		left: () => undefined,
	},
});
await log.open(false);

function appendMore(): void {
	for (let count = 0; count < 20 && log.next - log.persisted < 2000; count++) {
		const text = `{"stream":"orders","payload":${log.next}}`.padEnd(200 + (log.next % 500));
		log.append({
			kind: 'event',
			producer: 'p',
			epoch: 1,
			seq: log.next,
			stream: 'orders',
			key: undefined,
			id: undefined,
			text,
		});
	}
	setImmediate(appendMore);
}
appendMore();
