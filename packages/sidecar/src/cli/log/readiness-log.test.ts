import { FakeClock } from '@spock/testkit';
import { expect, it } from 'vitest';

import { REASON_MS_MIN, ReadinessLog } from './connection-log.ts';

it('says once when it is ready and when it is not and why; another reason only after a while', async () => {
	const lines: string[] = [];
	const clock = new FakeClock();
	const write = (...said: unknown[]): void => {
		const { reason } = said[0] as { readonly reason?: string };
		lines.push(reason === undefined ? `${said.at(-1)}` : `${said.at(-1)}: ${reason}`);
	};
	const readiness = new ReadinessLog({ info: write, warn: write } as never, clock);
	const told = (ready: boolean, ...reasons: string[]): string[] => {
		readiness.changed({ ready, reasons, checks: [] });
		return lines.splice(0);
	};
	expect(told(false, 'refused')).toEqual(['not ready: refused']);
	expect(told(false, 'refused')).toEqual([]);
	expect(told(false, 'denied')).toEqual([]);
	await clock.advance(REASON_MS_MIN);
	expect(told(false, 'denied')).toEqual(['not ready: denied']);
	expect(told(true, 'the last known answers are served')).toEqual([
		'ready, serving last known answers: the last known answers are served',
	]);
	expect(told(true)).toEqual(['ready']);
	expect(told(true)).toEqual([]);
	expect(told(false, 'denied')).toEqual(['not ready: denied']);
	expect(REASON_MS_MIN).toBe(60_000);
});
