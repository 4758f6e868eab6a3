import { SpockError } from '@spock/protocol';
import { expect, it } from 'vitest';

import { waitFor } from '../wait-for.ts';
import { hostsOf, type MakeFixture, recorder, type SourceFixture, type SourceTraits } from './fixture.ts';

type Hands = Required<Pick<SourceFixture, 'holdAnswers' | 'cutOff'>>;

/** What a source promises while its registry is silent or away. */
export function testOutages(makeFixture: MakeFixture, traits: SourceTraits): void {
	if (traits.isEmbedded === true) return;
	testSilence(makeFixture);
	testAbsence(makeFixture);
}

function testSilence(makeFixture: MakeFixture): void {
	it('get without a first answer rejects at its deadline, and ABORTED by its signal, with the cause', async () => {
		await using fixture = await makeFixture();
		await handsOf(fixture).holdAnswers(true);
		const late = await fixture.source.get({ service: 'barista' }, { timeoutMs: 20 }).catch((error: unknown) => error);
		expect(SpockError.is(late) && late.retryable).toBe(true);
		const stop = new AbortController();
		const waiting = fixture.source.get({ service: 'barista' }, { signal: stop.signal });
		const reason = new Error('changed my mind');
		stop.abort(reason);
		await expect(waiting).rejects.toMatchObject({ code: 'ABORTED', cause: reason });
		await expect(fixture.source.get({ service: 'barista' }, { signal: stop.signal })).rejects.toMatchObject({
			code: 'ABORTED',
		});
	});

	it('whoever gives up waiting leaves the others waiting', async () => {
		await using fixture = await makeFixture();
		const { holdAnswers } = handsOf(fixture);
		await fixture.setService('barista', ['10.0.0.1:80']);
		await holdAnswers(true);
		const stop = new AbortController();
		const given = fixture.source.get({ service: 'barista' }, { signal: stop.signal, timeoutMs: 20_000 });
		const waiting = fixture.source.get({ service: 'barista' }, { timeoutMs: 20_000 });
		stop.abort();
		await expect(given).rejects.toMatchObject({ code: 'ABORTED' });
		await holdAnswers(false);
		expect(hostsOf(await waiting)).toEqual(['10.0.0.1:80']);
	});

	it('a watch outlives the want of a first answer', async () => {
		await using fixture = await makeFixture();
		const { holdAnswers } = handsOf(fixture);
		await fixture.setService('barista', ['10.0.0.1:80']);
		await holdAnswers(true);
		const seen = recorder();
		const watch = fixture.source.watch({ service: 'barista' }, seen);
		expect(seen.snapshots).toEqual([]);
		await holdAnswers(false);
		await waitFor('the snapshot', () => hostsOf(seen.snapshots.at(-1))?.[0] === '10.0.0.1:80');
		watch.stop();
	});
}

function testAbsence(makeFixture: MakeFixture): void {
	it('while the registry is away what is known is still given, says so, and grows old; then it is live again', async () => {
		await using fixture = await makeFixture();
		const { cutOff } = handsOf(fixture);
		const { source } = fixture;
		await fixture.setService('barista', ['10.0.0.1:80']);
		const seen = recorder();
		source.watch({ service: 'barista' }, seen);
		await waitFor('the snapshot', () => seen.snapshots.at(-1)?.source === 'live');
		await cutOff(true);
		await waitFor('the stale snapshot', () => seen.snapshots.at(-1)?.source === 'last-known-good');
		const { ageMs } = await source.get({ service: 'barista' });
		await waitFor('its age', () => (source.peek({ service: 'barista' })?.ageMs ?? 0) > ageMs);
		expect(source.peek({ service: 'barista' })?.source).toBe('last-known-good');
		expect(hostsOf(source.peek({ service: 'barista' }))).toEqual(['10.0.0.1:80']);
		await cutOff(false);
		await waitFor('the live snapshot', () => seen.snapshots.at(-1)?.source === 'live');
		expect(seen.snapshots.at(-1)?.ageMs).toBe(0);
		expect(seen.errors, 'once there was a snapshot there are no errors any more').toEqual([]);
	});

	it('a change that was made while the registry was away arrives when it is back', async () => {
		await using fixture = await makeFixture();
		const { cutOff } = handsOf(fixture);
		await fixture.setService('barista', ['10.0.0.1:80']);
		await fixture.source.get({ service: 'barista' });
		await cutOff(true);
		await waitFor('the outage', () => fixture.source.peek({ service: 'barista' })?.source === 'last-known-good');
		await fixture.setService('barista', ['10.0.0.2:80']);
		await cutOff(false);
		await waitFor('the change', () => hostsOf(fixture.source.peek({ service: 'barista' }))?.[0] === '10.0.0.2:80');
	});

	it('a service that was never asked for is refused while the registry is away, and its watch goes on', async () => {
		await using fixture = await makeFixture();
		const { cutOff } = handsOf(fixture);
		await fixture.setService('waiter', ['10.0.0.1:80']);
		await cutOff(true);
		const seen = recorder();
		fixture.source.watch({ service: 'waiter' }, seen);
		const refusal = await fixture.source
			.get({ service: 'waiter' }, { timeoutMs: 200 })
			.catch((error: unknown) => error);
		expect(SpockError.is(refusal) && refusal.retryable).toBe(true);
		expect(seen.snapshots).toEqual([]);
		await cutOff(false);
		await waitFor('the snapshot', () => hostsOf(seen.snapshots.at(-1))?.[0] === '10.0.0.1:80');
	});
}

function handsOf({ holdAnswers, cutOff }: SourceFixture): Hands {
	if (holdAnswers === undefined || cutOff === undefined)
		throw new TypeError('the fixture needs holdAnswers and cutOff');
	return { holdAnswers, cutOff };
}
