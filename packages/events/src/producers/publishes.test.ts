import { EVENT_BYTES_MAX, SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { ProducerHouse } from '../../test/producer-house.ts';
import { PUBLISHES_MAX } from './publishes.ts';

describe('publish', () => {
	it('is answered when it is on disk, with the position of the first event of its id', async () => {
		const house = new ProducerHouse();
		const answers: unknown[] = [];
		for (const id of ['a', 'b', 'a']) {
			void house.producers.publish({ stream: 'orders', id, payload: 1 }).then((reply) => answers.push(reply));
		}
		house.log.commit(2);
		await house.clock.advance(0);
		expect(answers).toEqual([{ position: 1, duplicate: false }]);
		house.log.commit();
		await house.clock.advance(0);
		expect(answers.slice(1)).toEqual([
			{ position: 2, duplicate: false },
			{ position: 1, duplicate: true },
		]);
		expect(await house.producers.publish({ stream: 'orders', id: 'b', payload: 1 })).toEqual({
			position: 2,
			duplicate: true,
		});
	});

	it('is bounded: too many that wait are refused, and those that were aborted count until they are on disk', async () => {
		const house = new ProducerHouse();
		const controller = new AbortController();
		const aborted: unknown[] = [];
		for (let count = 0; count < PUBLISHES_MAX; count++) {
			house.producers
				.publish({ stream: 'orders', payload: 1 }, controller.signal)
				.catch((error: unknown) => aborted.push(error));
		}
		controller.abort();
		await house.clock.advance(0);
		expect(aborted).toHaveLength(PUBLISHES_MAX);
		expect(aborted[0]).toMatchObject({ code: 'ABORTED' });
		await expect(house.producers.publish({ stream: 'orders', payload: 1 })).rejects.toMatchObject({
			code: 'OVERLOADED',
		});
		house.log.commit();
		const next = house.producers.publish({ stream: 'orders', payload: 1 });
		house.log.commit();
		expect(await next).toMatchObject({ duplicate: false });
	});

	it('is refused with the reason while nothing is taken, and rejected when the log is released', async () => {
		const house = new ProducerHouse();
		const waiting = house.producers.publish({ stream: 'orders', payload: 1 });
		house.producers.setReason('the disk is full');
		const refused = house.producers.publish({ stream: 'orders', payload: 1 });
		await expect(refused).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			message: expect.stringContaining('the disk is full'),
		});
		house.producers.released(new SpockError('UNAVAILABLE', 'the log is released'));
		await expect(waiting).rejects.toMatchObject({ code: 'UNAVAILABLE' });
	});

	it('is refused if it is too long, or aborted before it began: nothing is stored', async () => {
		const house = new ProducerHouse();
		const long = house.producers.publish({ stream: 'orders', payload: 'x'.repeat(EVENT_BYTES_MAX) });
		await expect(long).rejects.toMatchObject({ code: 'FRAME_TOO_LARGE', details: { eventBytesMax: EVENT_BYTES_MAX } });
		const aborted = house.producers.publish({ stream: 'orders', payload: 1 }, AbortSignal.abort());
		await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
		expect(house.events()).toEqual([]);
	});
});
