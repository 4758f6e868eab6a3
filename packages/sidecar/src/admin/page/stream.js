/** The sidecar says something every second: after so long without a word the stream is made anew. */
const SILENCE_MS_MAX = 6000;
const RETRY_MS = 2000;
/** A page that nobody sees for so long lets go of its stream. */
const HIDDEN_MS = 15_000;

const PARTS = ['overview', 'services', 'connections', 'events', 'registrations', 'keys', 'changes'];

/**
 * Follows the events of the sidecar for as long as the page is there. `began` is called before the first event of each stream,
 * which tells everything again; `told` for each part; `state` with `connecting`, `live`, `lost` or `paused`.
 */
export function follow({ began, told, state }) {
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
		source = new EventSource('events');
		let isFirst = true;
		for (const part of PARTS) {
			source.addEventListener(part, ({ data }) => {
				heard();
				if (isFirst) {
					isFirst = false;
					began();
					state('live');
				}
				told(part, JSON.parse(data));
			});
		}
		source.addEventListener('end', lost);
		source.addEventListener('error', lost);
		heard();
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
