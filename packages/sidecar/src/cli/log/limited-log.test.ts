import { FakeClock } from '@spock/testkit';
import type { Logger } from 'pino';
import { expect, it } from 'vitest';

import { LimitedLog } from './limited-log.ts';

type Line = readonly [facts: Record<string, unknown>, message: string];

function limited() {
	const lines: Line[] = [];
	const write = (...line: Line): void => void lines.push(line);
	const log = { trace: write, debug: write, info: write, warn: write, error: write } as unknown as Logger;
	const clock = new FakeClock();
	return { lines, clock, log: new LimitedLog(log, clock) };
}

function writeMany(log: LimitedLog, kind: string, count: number): void {
	for (let number = 0; number < count; number++) log.of(kind).warn({ number }, kind);
}

it('writes ten lines of a kind in a second, and at its end how many it has left out', async () => {
	const { lines, clock, log } = limited();
	writeMany(log, 'bad', 25);
	expect(lines).toHaveLength(10);
	await clock.advance(1000);
	expect(lines.slice(10)).toEqual([[{ kind: 'bad', leftOut: 15 }, 'too many log lines; some left out']]);
	expect([log.leftOut, clock.pendingTimers]).toEqual([15, 0]);
	writeMany(log, 'bad', 1);
	expect(lines).toHaveLength(12);
});

it('of one kind no line is left out for the sake of another, and of what must be turned on none at all', () => {
	const { lines, log } = limited();
	writeMany(log, 'bad', 25);
	writeMany(log, 'good', 10);
	for (let number = 0; number < 100; number++) log.of('bad').debug({ number }, 'seen');
	expect(lines).toHaveLength(120);
});

it('says at its end what it has left out, and has no timer then', () => {
	const { lines, clock, log } = limited();
	writeMany(log, 'bad', 11);
	log.close();
	expect(lines.at(-1)?.[0]).toEqual({ kind: 'bad', leftOut: 1 });
	expect(clock.pendingTimers).toBe(0);
});
