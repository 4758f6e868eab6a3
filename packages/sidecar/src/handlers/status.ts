import type { StatusReply } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import { answer, type Handler } from '../server/answer.ts';
import { ToldAgain } from './told-again.ts';

/** What the sidecar knows of itself. It grows with what is watched, which clients decide. */
export function statusHandler(status: () => StatusReply, clock: Pick<Clock, 'now'>): Handler<'status'> {
	const told = new ToldAgain<StatusReply>(clock);
	return () => told.find('') ?? told.tell('', answer(status()));
}
