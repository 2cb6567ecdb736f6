'use strict';

// A simulation that the reader steers. Each has a model, `stateAt(inputs, steps)`, which depends on
// nothing else, and `draw(state)`, which makes HTML of what the model returns. So another number of
// threads, say, shows at once what would have happened until now. In print, and where no script
// runs, a drawing takes its place.
const simulations = {'slow-client': slowClient, 'blind-spot': blindSpot};
const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');

function moving(stage) {
    return [...stage.querySelectorAll('[data-key]')];
}

// Replace the drawing, and let what is in both glide from its old place to its new one.
function redraw(stage, html) {
    const places = new Map(moving(stage).map(e => [e.dataset.key, e.getBoundingClientRect()]));
    const origin = stage.getBoundingClientRect();
    stage.innerHTML = html;
    if (reducedMotion.matches) return;
    const moved = stage.getBoundingClientRect();
    for (const element of moving(stage)) {
        const from = places.get(element.dataset.key), to = element.getBoundingClientRect();
        if (!from) continue;
        const x = from.x - origin.x - to.x + moved.x, y = from.y - origin.y - to.y + moved.y;
        element.animate([{transform: `translate(${x}px, ${y}px)`}, {}],
            {duration: 350, easing: 'ease-in-out'});
    }
}

function make(tag, properties, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
}

function button(label, onclick) {
    return make('button', {type: 'button', textContent: label, onclick});
}

function simulate(figure, simulation) {
    const {stateAt, draw, report, place, start, buttons, slider, last, stride,
        interval} = simulation;
    const {input, label, unit, ...range} = slider;
    const stage = make('div', {className: 'stage'});
    const location = make('span', {className: 'location'});
    const status = make('output');  // a live region: screen readers read out what it says
    const knob = make('input', {type: 'range', ...range});
    const value = make('span', {className: 'value'});
    let inputs = start(), steps = 0, timer = 0;

    function change(newInputs, newSteps) {
        inputs = newInputs;
        steps = Math.min(newSteps, last);
        if (steps === last) pause();
        const state = stateAt(inputs, steps);
        redraw(stage, draw(state));
        location.textContent = place(steps);
        knob.value = inputs[input];
        value.textContent = `${inputs[input].toLocaleString('en')} ${unit}`;
        const reported = report(state);
        if (status.textContent !== reported) status.textContent = reported;
    }

    function pause() {
        clearInterval(timer);
        timer = 0;
        play.textContent = 'Play';
        status.setAttribute('aria-live', 'polite');
    }

    function toggle() {
        if (timer) return pause();
        if (steps === last) change(inputs, 0);
        timer = setInterval(() => change(inputs, steps + 1), interval);
        play.textContent = 'Pause';
        status.setAttribute('aria-live', 'off');  // it changes too often to be read out
    }

    const play = button('Play', toggle);
    play.hidden = reducedMotion.matches;
    const step = button('Step', () => change(inputs, steps + stride));
    const again = button('Start again', () => { pause(); change(start(), 0); });
    knob.addEventListener('input', () => change({...inputs, [input]: Number(knob.value)}, steps));
    const adding = Object.entries(buttons).map(
        ([name, added]) => button(name, () => change(added(inputs, steps), steps)));
    const box = make('div', {className: 'simulation'},
        make('div', {className: 'keys'}, ...adding,
            make('span', {className: 'setting'}, make('label', {}, `${label} `, knob), value)),
        make('div', {className: 'keys'}, step, play, again, location),
        stage, status);
    // Elsewhere, the arrow keys turn the page.
    box.addEventListener('keydown', event => {
        if (event.key.startsWith('Arrow')) event.stopPropagation();
    });
    figure.append(box);
    figure.classList.add('live');
    change(inputs, 0);
}

document.querySelectorAll('.play').forEach(
    figure => simulate(figure, simulations[figure.dataset.play]));
