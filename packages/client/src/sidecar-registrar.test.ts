import { type FakeAnswer, type RecordedRequest, settle, wireError } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { barista, registering, reply } from '../test/registering-sidecar.ts';
import { simulate } from '../test/simulated-client.ts';

describe('a connection that changes meanwhile', () => {
	it('the one on which it was registered is gone before the answer is read: the next one is told as well', async () => {
		const { diplomat, sidecar, clock } = await simulate(
			{},
			{
				handle: (request) =>
					request.connection === 0 && request.func === 'registerService' ? 'hold' : registering(request),
			},
		);
		const registered = diplomat.register(barista);
		await settle();
		sidecar.connection.drop();
		await clock.advance(100);
		expect(await registered).toMatchObject({ state: 'registered' });
		const asked = sidecar.requestsOf('registerService');
		expect(asked.map(({ connection }) => connection)).toEqual([0, 1, 1]);
		expect(asked.at(-1)?.data).toEqual({ ...barista, id: 'b1' });
		await diplomat.close();
	});

	it.each(['answered', 'refused'])(
		'what is deregistered while it is registered again stays so, %s or not',
		async (how) => {
			const script = { holds: false };
			const handle = (request: RecordedRequest): FakeAnswer | undefined =>
				request.func === 'registerService' && script.holds ? 'hold' : registering(request);
			const { diplomat, sidecar, clock } = await simulate({}, { handle });
			const registration = await diplomat.register(barista);
			script.holds = true;
			sidecar.connection.drop();
			await clock.advance(100);
			const again = sidecar.requestsOf('registerService').at(-1);
			await registration.drain();
			if (how === 'answered') sidecar.connection.reply(again?.id ?? -1, reply());
			else sidecar.connection.fail(again?.id ?? -1, wireError('UNAVAILABLE', true));
			await clock.advance(60_000);
			expect(registration).toMatchObject({ state: 'deregistered', error: null });
			expect(sidecar.requestsOf('registerService')).toHaveLength(2);
			await diplomat.close();
		},
	);
});
