import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { resolveLimits, type SidecarLimits } from '../foundation/limits.ts';
import { type LoadedConnection, Overload } from './overload.ts';

class Scripted implements LoadedConnection {
	inFlight = 0;
	outputBytes = 0;
	window: number | undefined;
	/** Requests in each sample. */
	rate: number;
	readonly told: number[] = [];

	constructor(rate: number, window: number | undefined = 65_536) {
		this.rate = rate;
		this.window = window;
	}

	sample(): number {
		return this.rate;
	}

	tellWindow(inFlightMax: number): void {
		this.window = inFlightMax;
		this.told.push(inFlightMax);
	}
}

/** A clock whose timers fire late by a delay, as those of a busy event loop do. */
class BusyClock extends FakeClock {
	delayMs = 0;

	override setTimeout(callback: () => void, delayMs: number): ReturnType<FakeClock['setTimeout']> {
		return super.setTimeout(callback, delayMs + this.delayMs);
	}
}

function simulate(connections: readonly Scripted[], limits: SidecarLimits = {}) {
	const clock = new BusyClock();
	const told: string[] = [];
	const overload = new Overload({
		limits: resolveLimits(limits),
		clock,
		connections: () => connections,
		observer: { overload: (signals) => told.push(signals.join('+') || 'over') },
	});
	overload.touch();
	return { clock, told, overload };
}

describe('an overload', () => {
	it('narrows the greediest alone, and by halves; those who ask for little are left alone', async () => {
		const [greedy, modest] = [new Scripted(4000), new Scripted(10)];
		const { clock, told, overload } = simulate([greedy, modest]);
		clock.delayMs = 60;
		await clock.advance(100);
		expect(greedy.told).toEqual([]);
		await clock.advance(160 * 4);
		expect(greedy.told.slice(0, 3)).toEqual([2000, 1000, 500]);
		expect(modest.told).toEqual([]);
		expect(told).toEqual(['loop-delay']);
		expect(overload.narrowed).toBe(1);
	});

	it('a single late sample is none: garbage is collected now and then', async () => {
		const greedy = new Scripted(4000);
		const { clock, told } = simulate([greedy]);
		for (let turn = 0; turn < 5; turn++) {
			clock.delayMs = 200;
			await clock.advance(100);
			clock.delayMs = 0;
			await clock.advance(300);
			await clock.advance(100);
		}
		expect(greedy.told).toEqual([]);
		expect(told).toEqual([]);
	});

	it('between half a threshold and the whole nothing changes; below it windows grow by small steps, up to all', async () => {
		const greedy = new Scripted(4000);
		const { clock, told, overload } = simulate([greedy]);
		clock.delayMs = 60;
		await clock.advance(100 + 160 * 2);
		clock.delayMs = 40;
		await clock.advance(3000);
		const narrowed = greedy.told.length;
		expect(told).toEqual(['loop-delay']);
		clock.delayMs = 0;
		await clock.advance(140 + 100 * 3);
		expect(greedy.told).toHaveLength(narrowed);
		await clock.advance(300);
		const grown = greedy.told.slice(narrowed);
		expect(grown.length).toBeGreaterThan(0);
		const steps = grown.map((window, index) => window - (grown[index - 1] ?? greedy.told[narrowed - 1] ?? 0));
		expect(new Set(steps)).toEqual(new Set([1024]));
		expect(told).toEqual(['loop-delay', 'over']);
		await clock.advance(10_000);
		expect(greedy.window).toBe(65_536);
		expect(overload.narrowed).toBe(0);
	});

	it('no window gets smaller than what cannot hurt', async () => {
		const greedy = new Scripted(4000);
		const { clock } = simulate([greedy]);
		clock.delayMs = 60;
		await clock.advance(10_000);
		expect(greedy.window).toBe(16);
	});

	it('who does not know of windows is told nothing', async () => {
		const plain = new Scripted(4000);
		plain.window = undefined;
		const { clock, told } = simulate([plain]);
		clock.delayMs = 60;
		await clock.advance(1000);
		expect(plain.told).toEqual([]);
		expect(told).toEqual(['loop-delay']);
	});

	it('too many requests in flight, and too much unread output, are one too; output is then shared', async () => {
		const [waiting, slow] = [new Scripted(0), new Scripted(1)];
		waiting.inFlight = 600;
		const { clock, told, overload } = simulate([waiting, slow], {
			inFlightTotalMax: 1000,
			outputTotalBytesMax: 400_000,
			outputBytesMax: 1_000_000,
		});
		overload.inFlight = 600;
		await clock.advance(200);
		expect(told).toEqual(['in-flight']);
		expect(waiting.told).toEqual([300]);
		slow.outputBytes = 500_000;
		await clock.advance(100);
		expect(overload.outputBytesMax).toBe(200_000);
		slow.outputBytes = 0;
		await clock.advance(100);
		expect(overload.outputBytesMax).toBe(1_000_000);
	});

	it('without load nothing runs', async () => {
		const idle = new Scripted(0);
		const { clock, overload } = simulate([idle]);
		await clock.advance(100);
		expect(clock.pendingTimers).toBe(0);
		overload.touch();
		overload.close();
		expect(clock.pendingTimers).toBe(0);
	});
});
