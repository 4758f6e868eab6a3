import type { TakeOverReply } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import { type Answer, answer, type Caller, type Handler } from '../connection/answer.ts';
import type { HandOver } from '../take-over/hand-over.ts';
import { ToldAgain } from './told-again.ts';

/** Somebody takes the place of this sidecar, or says that it has. */
export function takeOverHandler(handOver: HandOver, clock: Pick<Clock, 'now'>): Handler<'takeOver'> {
	const told = new ToldAgain<TakeOverReply>(clock);
	const begin = (caller: Caller): Answer<TakeOverReply> => {
		// Whoever says it is noted each time, and refused when there is nothing to take any more.
		handOver.begin(caller);
		const key = String(caller.frameBytesMax);
		return told.find(key) ?? told.tell(key, answer(handOver.questions(caller.frameBytesMax)));
	};
	return ({ step }, { caller }) => (step === 'begin' ? begin(caller) : handOver.finish().then(answer));
}
