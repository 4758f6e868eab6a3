import { answer, type Handlers } from '../connection/answer.ts';

/** The functions of events: see `EventSession`. Each throws UNKNOWN_FUNC where this sidecar takes no events. */
export const eventHandlers: Pick<
	Handlers,
	'openProducer' | 'publish' | 'openConsumer' | 'closeConsumer' | 'rewindGroup' | 'deleteGroup'
> = {
	openProducer: (data, { caller }) => {
		const opened = caller.events.openProducer(data);
		// At once where it can be, so that no push comes in front of the reply.
		return opened instanceof Promise ? opened.then(answer) : answer(opened);
	},
	publish: (data, { caller, signal }) => caller.events.publish(data, signal).then(answer),
	openConsumer: (data, { caller, signal }) => caller.events.openConsumer(data, signal).then(answer),
	closeConsumer: (data, { caller }) => {
		caller.events.closeConsumer(data);
		return answer(null);
	},
	rewindGroup: (data, { caller }) => caller.events.rewindGroup(data).then(answer),
	deleteGroup: (data, { caller }) => caller.events.deleteGroup(data).then(() => answer(null)),
};
