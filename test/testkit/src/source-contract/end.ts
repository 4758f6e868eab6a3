import { expect, it } from 'vitest';

import { type MakeFixture, recorder, type SourceTraits } from './fixture.ts';

/** What `close` promises. */
export function testEnd(makeFixture: MakeFixture, { isEmbedded = false }: SourceTraits): void {
	// Nobody ever waits for what is in the process itself.
	if (!isEmbedded) testCloseWhileWaiting(makeFixture);

	it('after close nothing is given and nothing can be started', async () => {
		await using fixture = await makeFixture();
		await fixture.setService('barista', ['10.0.0.1:80']);
		const { source } = fixture;
		const seen = recorder();
		source.watch({ service: 'barista' }, seen);
		await source.get({ service: 'barista' });
		await source.close();
		const told = seen.snapshots.length;
		await fixture.setService('barista', ['10.0.0.2:80']);
		expect(source.peek({ service: 'barista' })).toBeUndefined();
		await expect(source.get({ service: 'barista' })).rejects.toMatchObject({ code: 'CLOSED' });
		await expect(source.list({})).rejects.toMatchObject({ code: 'CLOSED' });
		expect(() => source.watch({ service: 'barista' }, seen)).toThrow(expect.objectContaining({ code: 'CLOSED' }));
		expect(seen.snapshots).toHaveLength(told);
	});
}

function testCloseWhileWaiting(makeFixture: MakeFixture): void {
	it('close rejects who waits with CLOSED, silences watches, and is idempotent', async () => {
		await using fixture = await makeFixture();
		await fixture.holdAnswers?.(true);
		const seen = recorder();
		fixture.source.watch({ service: 'barista' }, seen);
		const waiting = fixture.source.get({ service: 'barista' });
		const settled = expect(waiting).rejects.toMatchObject({ code: 'CLOSED' });
		await fixture.source.close();
		await fixture.source.close();
		await settled;
		const told = seen.snapshots.length + seen.errors.length;
		await fixture.holdAnswers?.(false);
		await fixture.setService('barista', ['10.0.0.1:80']);
		await expect(fixture.source.get({ service: 'barista' })).rejects.toMatchObject({ code: 'CLOSED' });
		expect(seen.snapshots.length + seen.errors.length).toBe(told);
	});
}
