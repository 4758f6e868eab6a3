import { EventService } from '@spock/events';
import type { SpockError } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';
import { SimClaims, SimDisk, SimFiles } from '@spock/testkit/sim-files';
import { describe, expect, it } from 'vitest';

import type { EventLine } from '../connection/event-session.ts';
import { EventGuest } from './event-guest.ts';

/** What a connection was sent. */
class Line implements EventLine {
	readonly id = 1;
	readonly frameBytesMax = 1 << 20;
	readonly identity = undefined;
	readonly sent: string[] = [];

	send(line: string): void {
		this.sent.push(line);
	}

	hold(): void {}

	release(): void {}
}

/** A sidecar's events, with the real service on a disk that processes share. */
function house() {
	const clock = new FakeClock();
	const disk = new SimDisk();
	const claims = new SimClaims();
	const told: string[] = [];
	const files = new SimFiles(disk);
	const service = (lost?: (reason: SpockError) => void): EventService =>
		new EventService({
			...{
				directory: '/log',
				files: lost ? files : new SimFiles(disk),
				owner: claims.owner(),
				clock,
				random: () => 0.5,
			},
			limits: { freeBytesMin: 0 },
			...(lost && { lost }),
		});
	const guest = new EventGuest(
		{ clock, random: () => 0.5, defer: setImmediate },
		{
			serve: service,
			directory: '/log',
			drainMs: 1000,
			opened: () => told.push('opened'),
			openFailed: () => told.push('failed'),
		},
	);
	const line = new Line();
	const session = guest.session(line);
	const publish = async (payload: unknown): Promise<number | Error> => {
		const published = session.publish({ stream: 'orders', payload }, new AbortController().signal);
		return published.then(
			({ position }) => position,
			(error: Error) => error,
		);
	};
	const payloads = (): unknown[] =>
		[...line.sent.join('').matchAll(/"payload":("[^"]*")/g)].map(([, text = '']) => JSON.parse(text));
	/** Lets time pass, and what is due happen. */
	const pass = async (milliseconds: number): Promise<void> => {
		for (let passed = 0; passed < milliseconds; passed += 100) {
			await clock.advance(100);
			await settle();
		}
	};
	return { clock, claims, files, guest, session, service, told, publish, payloads, pass };
}

describe('a log that another process takes while it is open', () => {
	it('is refused with the reason, claimed for as long as that one has it, and goes on where that one ended', async () => {
		const { guest, claims, service, told, publish, session, payloads, pass } = house();
		guest.open(false);
		await settle();
		expect(told).toEqual(['opened']);
		expect(await publish('mine')).toBe(1);
		const other = service();
		await other.open(true);
		await other.publish({ stream: 'orders', payload: 'theirs' });
		expect(await publish('refused')).toMatchObject({ code: 'UNAVAILABLE' });
		expect(guest.status()).toMatchObject({ state: 'failed', reason: expect.stringContaining('given by --events') });
		expect(told).toEqual(['opened', 'failed']);
		await pass(60_000);
		// It was claimed again and again, and never taken from who has it.
		expect(told.filter((each) => each === 'failed').length).toBeGreaterThan(3);
		expect(await other.publish({ stream: 'orders', payload: 'theirs, too' })).toMatchObject({ duplicate: false });
		const failed = told.length;
		await other.close(0);
		await pass(20_000);
		expect(told.slice(failed)).toEqual(['opened']);
		expect(claims.current).toBeDefined();
		expect(await publish('mine again')).toBeGreaterThan(3);
		const { signal } = new AbortController();
		await session.openConsumer({ stream: 'orders', from: 'first' }, signal);
		await pass(200);
		// What was refused is not there: nobody was told that it is.
		expect(payloads()).toEqual(['mine', 'theirs', 'theirs, too', 'mine again']);
		expect(guest.status()).toMatchObject({ state: 'receiving', reason: null, damaged: 0 });
		await guest.close();
	});

	it('while it is taken over by force is not taken back', async () => {
		const { guest, files, service, told, pass } = house();
		// It stands still in the midst of it, as a process that is stopped.
		let goOn = (): void => undefined;
		files.before = (operation) =>
			operation === 'create' ? new Promise<void>((resolve) => (goOn = resolve)) : undefined;
		guest.open(true);
		await settle();
		const other = service();
		await other.open(true);
		files.before = () => undefined;
		goOn();
		await pass(60_000);
		expect(told).not.toContain('opened');
		expect(await other.publish({ stream: 'orders', payload: 'theirs' })).toMatchObject({ duplicate: false });
		await other.close(0);
		await pass(20_000);
		expect(told.at(-1)).toBe('opened');
		await guest.close();
	});
});
