'use strict';

// Two load generators that are to send a request every 20 ms, while the server sleeps for a time.
// The closed loop waits for each answer before it sends again, and the open loop does not wait.
// All times are in milliseconds.
const blindSpot = (() => {
    const PERIOD = 20, SERVICE = 5, ASLEEP_AT = 500, END = 3000, STEP = 50;

    // When the server answers a request that it could begin at `start`.
    function finish(start, sleep) {
        const awake = ASLEEP_AT + sleep;
        return (start >= ASLEEP_AT && start < awake ? awake : start) + SERVICE;
    }

    // All requests sent before `now`; `next` returns when to send again after a request. The server
    // handles one at a time.
    function run(sleep, now, next) {
        const requests = [];
        let free = 0;
        for (let sent = 0; sent < now; sent = next(requests.at(-1))) {
            free = finish(Math.max(sent, free), sleep);
            requests.push({sent, answered: free});
        }
        return requests;
    }

    const loops = {
        closed: request => Math.ceil(request.answered / PERIOD) * PERIOD,
        open: request => request.sent + PERIOD,
    };

    // What a generator reports at `now`: its percentile is of the answers received so far.
    function summarize(requests, now) {
        const latencies = requests.filter(request => request.answered <= now)
            .map(request => request.answered - request.sent).sort((a, b) => a - b);
        return {
            sent: requests.length,
            omitted: Math.ceil(now / PERIOD) - requests.length,
            p90: latencies[Math.ceil(0.9 * latencies.length) - 1] ?? 0,
            slowest: latencies.at(-1) ?? 0,
        };
    }

    function stateAt({sleep}, steps) {
        const now = steps * STEP;
        const of = next => {
            const requests = run(sleep, now, next);
            return {requests, ...summarize(requests, now)};
        };
        return {sleep, now, closed: of(loops.closed), open: of(loops.open)};
    }

    // From here on, the drawing: latency over the time at which a request was sent.
    const LEFT = 40, HEIGHT = 90, HIGHEST = 1505;
    const INVITING = 'class="title" text-anchor="middle"';
    const x = time => +(LEFT + time * 0.11).toFixed(1);
    const height = latency => +Math.max(2.5, latency * HEIGHT / HIGHEST).toFixed(1);
    const ms = time => `${time.toLocaleString('en')}\u00a0ms`;
    const text = (at, y, words, attributes = 'class="small"') =>
        `<text x="${at}" y="${y}" ${attributes}>${words}</text>`;

    function bars(requests, now, base) {
        const bar = ({sent, answered}) =>
            `M${x(sent)} ${base}v-${height(Math.min(answered, now) - sent)}`;
        const path = (some, kind) => `<path class="bar ${kind}" d="${some.map(bar).join('')}"/>`;
        return path(requests.filter(request => request.answered <= now), 'answered')
            + path(requests.filter(request => request.answered > now), 'pending');
    }

    // A tick below the axis for each request that should have been sent, and was not.
    function omitted({requests}, now, base) {
        const sent = new Set(requests.map(request => request.sent));
        const planned = Array.from({length: Math.ceil(now / PERIOD)}, (_, i) => i * PERIOD);
        const ticks = planned.filter(time => !sent.has(time)).map(time => `M${x(time)} ${base + 3}v6`);
        return `<path class="bar omitted" d="${ticks.join('')}"/>`;
    }

    function summary({sent, omitted, p90, slowest}, now) {
        return now === 0 ? 'Which p90 will it report?'
            : `${sent} sent, ${omitted} left out, p90 ${ms(p90)}, slowest ${ms(slowest)}`;
    }

    function chart(title, loop, {sleep, now}, top) {
        const base = top + 62 + HEIGHT, second = base - height(1000);
        const asleep = text(x(ASLEEP_AT + sleep / 2), top + 74, 'server asleep',
            'class="small" text-anchor="middle"');
        return text(10, top + 22, title, 'class="title"')
            + text(10, top + 43, summary(loop, now))
            + `<rect class="asleep" x="${x(ASLEEP_AT)}" y="${top + 56}"
                width="${x(sleep) - LEFT}" height="${base - top - 56}"/>${sleep ? asleep : ''}`
            + `<path class="arrow" d="M${LEFT} ${base}H${x(END)}"/>`
            + text(LEFT + 6, top + 74, 'latency')
            + `<path class="grid" d="M${LEFT} ${second}H${x(END)}"/>${text(14, second + 4, '1 s')}`
            + bars(loop.requests, now, base) + omitted(loop, now, base)
            + (now < END ? `<path class="cursor" d="M${x(now)} ${top + 56}V${base}"/>` : '');
    }

    function draw(state) {
        const seconds = [0, 1, 2, 3].map(second => text(x(1000 * second), 346, `${second} s`,
            'class="small" text-anchor="middle"'));
        return `<svg viewBox="0 0 380 352" role="img"><title>Latency of each request over the time at
            which it was sent, in a closed and in an open loop</title>
            ${chart('Closed loop', state.closed, state, 0)}
            ${chart('Open loop', state.open, state, 168)}${seconds.join('')}
            ${state.now === 0 ? text(290, 116, 'Guess, then start', INVITING) : ''}</svg>`;
    }

    function report({now, closed, open}) {
        if (now === 0) {
            return `Each generator will send a request every ${ms(PERIOD)}, if it can. Guess both`
                + ' p90s, then press Play or Step.';
        }
        return `The closed loop has left out ${closed.omitted} requests, and reports a p90 of`
            + ` ${ms(closed.p90)}. The open loop reports ${ms(open.p90)}.`;
    }

    return {
        stateAt, draw, report,
        start: () => ({sleep: 1000}),
        place: steps => `${(steps * STEP / 1000).toFixed(2)} s`,
        buttons: {},
        slider: {input: 'sleep', label: 'Sleep', unit: 'ms', min: 0, max: 1500, step: 250},
        last: END / STEP, stride: 5, interval: 80,
    };
})();
