// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the text of sources.
// Bugs to plant, each in one place of one source, as it is loaded for the fuzz: no file is ever written with one.
const decoder = 'packages/protocol/src/frame-decoder.ts';
const messages = 'packages/protocol/src/validate-message.ts';
const traces = 'packages/protocol/src/trace-context.ts';
const data = 'packages/protocol/src/validate-func-data.ts';

/** What is wrong, where, and how. `from` must stand exactly once in the file. */
export const mutations = [
	{
		name: 'the carry is not emptied after a frame',
		file: decoder,
		from: '		const frameBytes = this.#carryBytes;\n		this.#carryBytes = 0;',
		to: '		const frameBytes = this.#carryBytes;\n		if (frameBytes % 16 !== 0) this.#carryBytes = 0;',
	},
	{
		name: 'a chunk is kept and not copied',
		file: decoder,
		from: '		const needed = this.#carryBytes + end - start;\n',
		to: '		const needed = this.#carryBytes + end - start;\n		if (this.#carryBytes === 0) {\n			this.#carry = chunk.subarray(start, end);\n			this.#carryBytes = needed;\n			return;\n		}\n',
	},
	{
		name: 'invalid UTF-8 becomes U+FFFD',
		file: decoder,
		from: '		if (!isUtf8(line)) this',
		to: '		if (!isUtf8(line) && line.length > 4096) this',
	},
	{
		name: 'a lone CR ends a frame where a chunk ends',
		file: decoder,
		from: '		if (addedBytes === 0 || this.#discarding) return;',
		to: '		if (addedBytes === 0 || this.#discarding) return;\n		if (this.#carryBytes === 0 && chunk[chunk.length - 1] === CR) {\n			this.#emit(chunk, start, chunk.length);\n			return;\n		}',
	},
	{
		name: 'the limit counts the CR',
		file: decoder,
		from: '			if (last - from > this.#frameBytesMax) this',
		to: '			if (end - from > this.#frameBytesMax) this',
	},
	{
		name: 'the rest of an oversize frame is a frame',
		file: decoder,
		from: '			this.#discarding = true;\n',
		to: '			this.#discarding = false;\n',
	},
	{
		name: 'an id may have leading zeros on the fast path',
		file: decoder,
		from: '(count === 1 || text.charCodeAt(digits) !== ZERO)',
		to: '(count >= 1 || text.charCodeAt(digits) !== ZERO)',
	},
	{
		name: 'the largest id is one too large on the fast path',
		file: decoder,
		from: 'id <= ID_MAX &&',
		to: 'id <= ID_MAX + 1 &&',
	},
	{
		name: 'what is held is lost when it is held again',
		file: decoder,
		from: '		if (this.#releasing) this.#heldAt -= chunk.length - start;',
		to: '		if (this.#releasing) this.#heldAt -= (chunk.length - start) >> 1;',
	},
	{
		name: 'minus zero stays minus zero',
		file: messages,
		from: '	const requestId = id + 0;',
		to: '	const requestId = id;',
	},
	{
		name: 'brackets inside strings nest',
		file: 'packages/protocol/src/json-depth.ts',
		from: '			if (code === BACKSLASH) index++;\n			else if (code === QUOTE) inString = false;',
		to: '			if (code === QUOTE) inString = false;',
	},
	{
		name: 'a reply with a null id is a failure',
		file: messages,
		from: "	if (!isId(id)) return badRequest(null, 'id', 'the id of a reply is no request id');",
		to: "	if (!isId(id) && id !== null) return badRequest(null, 'id', 'the id of a reply is no request id');",
	},
	{
		name: 'members are looked up in the prototype',
		file: 'packages/protocol/src/error-code.ts',
		from: 'Object.hasOwn(WIRE_CODES, code)',
		to: 'code in WIRE_CODES',
	},
	{
		name: 'a tag may be one character too long',
		file: data,
		from: '		if (!isName(tag)) throw badName(`tags[${index}]`);',
		to: '		if (!isName(String(tag).slice(0, -1) || tag)) throw badName(`tags[${index}]`);',
	},
	{
		name: 'a trace id of zeros is a trace',
		file: traces,
		from: '(?!0{32})',
		to: '',
	},
	{
		name: 'a trace state may be of any length',
		file: traces,
		from: 'tracestate.length <= TRACE_STATE_LENGTH_MAX && ',
		to: '',
	},
	{
		name: 'requests are remembered although their id goes on',
		file: 'packages/sidecar/src/server/request-memo.ts',
		from: '		if (rest.charCodeAt(0) !== COMMA) return;\n',
		to: '		if (rest.charCodeAt(0) > COMMA + 64) return;\n',
	},
	{
		name: 'the trial of a remembered request is left out',
		file: 'packages/sidecar/src/server/request-memo.ts',
		from: "trial.kind === 'request' && trial.id === trialId",
		to: "trial.kind === 'request'",
	},
	{
		name: 'a failure may be longer than a frame',
		file: 'packages/sidecar/src/server/requests.ts',
		from: '		if (fitsFrame(line, this.#port.frameBytesMax)) this.#port.send(line);',
		to: '		if (fitsFrame(line, 1 << 20)) this.#port.send(line);',
	},
	{
		name: 'bad frames in a row are not counted',
		file: 'packages/sidecar/src/server/connection-input.ts',
		from: '		if (++this.#badFramesInARow < limits',
		to: '		if (this.#badFramesInARow < limits',
	},
	{
		name: 'an infinite weight is a weight',
		file: 'packages/client/src/snapshots/read-snapshot.ts',
		from: '	return Number.isFinite(value) &&',
		to: "	return typeof value === 'number' &&",
	},
	{
		name: 'the answer to a report is not looked at',
		file: 'packages/client/src/registration/sidecar-registrar.ts',
		from: 'const traits = { ...REPORTED, again };',
		to: 'const traits = { ...QUESTION, again };',
	},
	{
		name: 'a payload that is no JSON is a reply on the fast path',
		file: 'packages/client/src/calls/read-reply.ts',
		from: '	} catch {\n		return UNREADABLE;',
		to: '	} catch {\n		return payload;',
	},
	{
		name: 'a line separator is written into the frame',
		file: 'packages/protocol/src/frame-encoder.ts',
		from: '	return `{"event":${JSON.stringify(event)},"data":${payload}}\\n`;',
		to: '	return `{"event":"${event}","data":${payload}}\\n`;',
	},
];
