import { answer, type Handler } from '../server/answer.ts';
import type { HandOver } from '../take-over/hand-over.ts';

/** Somebody takes the place of this sidecar, or says that it has. */
export function takeOverHandler(handOver: HandOver): Handler<'takeOver'> {
	return ({ step }, { caller }) => (step === 'begin' ? answer(handOver.begin(caller)) : handOver.finish().then(answer));
}
