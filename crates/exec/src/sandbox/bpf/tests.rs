//! Property tests of the BPF assembler: programs of any shape and size jump to their targets.

use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::interpreter::{SeccompCall, is_valid, run};
use super::{BpfAssembler, BpfCondition, BpfLabel};

/// One step of a plan. References to other steps count down from the previous one, and wrap around.
#[derive(Debug, Clone)]
enum PlannedInstruction {
    Answer(u32),
    Load { argument: u32, then: usize },
    Mask { mask: u32, then: usize },
    Ask { question: BpfCondition, yes: usize, no: usize },
}

fn any_step() -> impl Strategy<Value = PlannedInstruction> {
    let question = (0..4_u8, 0..8_u32).prop_map(|(kind, k)| match kind {
        0 => BpfCondition::Is(k),
        1 => BpfCondition::AtLeast(k),
        2 => BpfCondition::Above(k),
        _ => BpfCondition::Has(k),
    });
    // Near, about at the limit of a jump, or anywhere.
    let other = || prop_oneof![0..4_usize, 250..262_usize, any::<usize>()];
    prop_oneof![
        1 => (0..6_u32).prop_map(PlannedInstruction::Answer),
        2 => (0..6_u32, other()).prop_map(|(argument, then)| PlannedInstruction::Load { argument, then }),
        1 => (0..8_u32, other()).prop_map(|(mask, then)| PlannedInstruction::Mask { mask, then }),
        6 => (question, other(), other()).prop_map(|(question, yes, no)| PlannedInstruction::Ask { question, yes, no }),
    ]
}

/// Returns the step that is `back` before step `at`.
fn before(at: usize, back: usize) -> usize {
    at - 1 - back % at
}

fn compile(plan: &[PlannedInstruction]) -> Vec<super::BpfInstruction> {
    let mut program = BpfAssembler::default();
    let mut labels: Vec<BpfLabel> = Vec::new();
    for (at, step) in plan.iter().enumerate() {
        let label = |back: usize| labels[before(at, back)];
        labels.push(match *step {
            PlannedInstruction::Answer(value) => program.emit_return(value),
            PlannedInstruction::Load { argument, then } => program.emit_load(16 + 8 * argument, label(then)),
            PlannedInstruction::Mask { mask, then } => program.emit_mask(mask, label(then)),
            PlannedInstruction::Ask { question, yes, no } => {
                program.emit_branch(question, label(yes), label(no))
            }
        });
    }
    program.finish(labels[plan.len() - 1])
}

fn follow(plan: &[PlannedInstruction], args: [u64; 6]) -> u32 {
    let (mut at, mut accumulator) = (plan.len() - 1, 0);
    // ends: it only gets nearer to the first step, which is an answer
    loop {
        at = match plan[at] {
            PlannedInstruction::Answer(value) => return value,
            PlannedInstruction::Load { argument, then } => {
                accumulator = u32::try_from(args[argument as usize]).unwrap();
                before(at, then)
            }
            PlannedInstruction::Mask { mask, then } => {
                accumulator &= mask;
                before(at, then)
            }
            PlannedInstruction::Ask { question, yes, no } => {
                let holds = match question {
                    BpfCondition::Is(k) => accumulator == k,
                    BpfCondition::AtLeast(k) => accumulator >= k,
                    BpfCondition::Above(k) => accumulator > k,
                    BpfCondition::Has(k) => accumulator & k != 0,
                };
                before(at, if holds { yes } else { no })
            }
        }
    }
}

proptest! {
    // Long plans take long to generate.
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_program_goes_where_its_plan_goes(
        steps in proptest::collection::vec(any_step(), 0..600),
        all_args in proptest::collection::vec(proptest::array::uniform6(0..8_u64), 20),
    ) {
        let plan: Vec<PlannedInstruction> = std::iter::once(PlannedInstruction::Answer(7)).chain(steps).collect();
        let program = compile(&plan);
        prop_assert!(is_valid(&program));
        for args in all_args {
            let told = SeccompCall { number: 0, arch: 0, args };
            prop_assert_eq!(run(&program, &told).answer, follow(&plan, args));
        }
    }
}
