import { writeSync } from 'node:fs';

import { createDiplomat } from '@spock/client';
import { openEvents } from '@spock/client/events';

import { ACCEPTED, type EventAppSettings, PERSISTED } from './event-report.ts';

// An app that emits without pause until it is killed. What it knows of its events it tells by a pipe and at once, so that the last
// word counts too.
const { path, run, streams, everyMs, perTurn, heartbeatMs } = JSON.parse(process.argv[2] ?? '') as EventAppSettings;
process.once('disconnect', () => process.exit());

const diplomat = createDiplomat({ path, ...(heartbeatMs !== undefined && { heartbeatMs }) });
const events = openEvents({ diplomat });
const REPORT = 3;
let count = 0;
let isPublishing = false;
let persistedAtMs = performance.now();

function turn(): void {
	// What an earlier tick has emitted, and is not in this process any more, is in the kernel or further: the app may die now.
	const { unsent } = events.status();
	const handed = count - unsent;
	if (handed > 0) writeSync(REPORT, `${ACCEPTED} ${handed}\n`);
	let hasRoom = true;
	for (let index = 0; index < perTurn && hasRoom; index++) {
		const stream = streams[count % streams.length] as string;
		hasRoom = events.emit(stream, { run, count: ++count, padding: 'x'.repeat(count % 300) });
	}
	// Without room it would wait, and events that are emitted meanwhile would be in front of it.
	if (hasRoom && !isPublishing) publishOne();
	if (!hasRoom) void events.room({ timeoutMs: 60_000 }).then(turn);
	else if (everyMs === 0) setImmediate(turn);
	else setTimeout(turn, everyMs);
}

/** One that is awaited: when it is on disk, all before it are. */
function publishOne(): void {
	const number = ++count;
	isPublishing = true;
	events.publish(streams[number % streams.length] as string, { run, count: number }, { timeoutMs: 60_000 }).then(
		() => {
			isPublishing = false;
			const nowMs = performance.now();
			writeSync(REPORT, `${PERSISTED} ${number} ${Math.round(nowMs - persistedAtMs)}\n`);
			persistedAtMs = nowMs;
		},
		(error: unknown) => {
			throw error;
		},
	);
}

await diplomat.ready({ timeoutMs: 60_000 });
turn();
