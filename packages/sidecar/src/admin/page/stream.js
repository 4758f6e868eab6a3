/** The sidecar says something every second: after so long without a word the stream is made anew. */
const SILENCE_MS_MAX = 6000;
const RETRY_MS = 2000;
/** A page that nobody sees for so long lets go of its stream. */
const HIDDEN_MS = 15_000;

const PARTS = ['overview', 'services', 'connections', 'events', 'registrations', 'keys', 'changes'];

/** Opened before the other scripts of the page have come: the first events come meanwhile, and wait until the page follows. */
const waiting = [];
let take = (part, data) => waiting.push([part, data]);
let early = openStream();

function openStream() {
	const source = new EventSource('events');
	// One that was closed has no more events.
	for (const part of PARTS) source.addEventListener(part, ({ data }) => take(part, data));
	return source;
}

/**
 * Follows the events of the sidecar for as long as the page is there. `began` is called before the first event of each stream,
 * which sends everything again; `received` for each part; `state` with `connecting`, `live`, `lost` or `paused`.
 */
export function follow({ began, received, state }) {
	let source;
	let silenceTimer;
	let retryTimer;
	let hiddenTimer;

	const close = () => {
		clearTimeout(silenceTimer);
		clearTimeout(retryTimer);
		source?.close();
		source = undefined;
	};
	const lost = () => {
		close();
		state('lost');
		retryTimer = setTimeout(open, RETRY_MS);
	};
	const heard = () => {
		clearTimeout(silenceTimer);
		silenceTimer = setTimeout(lost, SILENCE_MS_MAX);
	};
	const open = () => {
		close();
		const isEarly = early?.readyState < EventSource.CLOSED;
		source = isEarly ? early : openStream();
		early = undefined;
		let isFirst = true;
		take = (part, data) => {
			heard();
			if (isFirst) {
				isFirst = false;
				began();
				state('live');
			}
			received(part, JSON.parse(data));
		};
		source.addEventListener('end', lost);
		source.addEventListener('error', lost);
		heard();
		for (const [part, data] of waiting.splice(0)) if (isEarly) take(part, data);
	};

	document.addEventListener('visibilitychange', () => {
		clearTimeout(hiddenTimer);
		if (document.hidden) {
			hiddenTimer = setTimeout(() => {
				close();
				state('paused');
			}, HIDDEN_MS);
		} else if (source === undefined) open();
	});
	addEventListener('pagehide', close);
	addEventListener('pageshow', ({ persisted }) => {
		if (persisted) open();
	});
	state('connecting');
	open();
}
