# sgaudit 1, run 20261201t093000-abc123, planned at 2026-12-01T09:30:00Z
# Adds what the cluster lacks. Put it into a configuration with the AWS provider (5.0 or newer), then
# terraform plan and terraform apply; to undo it, take it out again and apply.
# Where Terraform manages what this adds to, its own lists take it away again: inline ingress and egress
# blocks of a group or an ACL, vpc_security_group_ids of an instance, security_groups of an interface.
#
# account 111122223333, Region us-east-1
# cluster: tags ["cluster=train"]; interfaces primary; family ipv4
# pairs of members before: 6 open, 0 partial, 6 blocked, 0 unknown
# pairs of members after:  12 open, 0 partial, 0 blocked, 0 unknown
# opens nothing beyond what is required
# whether interfaces outside the cluster carry the same groups was not read
# not safe without a look:
#   op-4, op-5, op-6 and op-7: it changes which groups an interface carries

data "aws_caller_identity" "sgaudit_20261201t093000_abc123" {
  lifecycle {
    postcondition {
      condition     = self.account_id == "111122223333"
      error_message = "This was planned for account 111122223333."
    }
  }
}

data "aws_region" "sgaudit_20261201t093000_abc123" {
  lifecycle {
    postcondition {
      condition     = self.id == "us-east-1"
      error_message = "This was planned for Region us-east-1."
    }
  }
}

# op-1: make a security group for the cluster alone
resource "aws_security_group" "sgaudit_20261201t093000_abc123_1" {
  name        = "sgaudit-20261201t093000-abc123"
  description = "members of --tag cluster=train reach one another; sgaudit"
  vpc_id      = "vpc-0babb8f5593f13cf1"

  tags = {
    "sgaudit:managed" = "true"
    "sgaudit:run"     = "20261201t093000-abc123"
    "sgaudit:cluster" = "--tag cluster=train"
  }
}

# op-3: let the new group receive tcp 29500,32768-60999 from itself
resource "aws_vpc_security_group_ingress_rule" "sgaudit_20261201t093000_abc123_3_1" {
  security_group_id            = aws_security_group.sgaudit_20261201t093000_abc123_1.id
  ip_protocol                  = "tcp"
  from_port                    = 29500
  to_port                      = 29500
  referenced_security_group_id = aws_security_group.sgaudit_20261201t093000_abc123_1.id
  description                  = "sgaudit 20261201t093000-abc123: --tag cluster=train"

  tags = {
    "sgaudit:managed" = "true"
    "sgaudit:run"     = "20261201t093000-abc123"
    "sgaudit:cluster" = "--tag cluster=train"
    "sgaudit:finding" = "3cc76bf2549726e645a8e1ccdd03442d"
  }
}

resource "aws_vpc_security_group_ingress_rule" "sgaudit_20261201t093000_abc123_3_2" {
  security_group_id            = aws_security_group.sgaudit_20261201t093000_abc123_1.id
  ip_protocol                  = "tcp"
  from_port                    = 32768
  to_port                      = 60999
  referenced_security_group_id = aws_security_group.sgaudit_20261201t093000_abc123_1.id
  description                  = "sgaudit 20261201t093000-abc123: --tag cluster=train"

  tags = {
    "sgaudit:managed" = "true"
    "sgaudit:run"     = "20261201t093000-abc123"
    "sgaudit:cluster" = "--tag cluster=train"
    "sgaudit:finding" = "3cc76bf2549726e645a8e1ccdd03442d"
  }
}

# op-4: put the new group on eni-0f9e40c6e381e87ca of train-0 (i-0f7b457a6770c3bdc)
# not safe: it changes which groups an interface carries
resource "aws_network_interface_sg_attachment" "sgaudit_20261201t093000_abc123_4_1" {
  security_group_id    = aws_security_group.sgaudit_20261201t093000_abc123_1.id
  network_interface_id = "eni-0f9e40c6e381e87ca"
}

# op-5: put the new group on eni-05aa0d263ce9822ba of train-1 (i-004e6089490f81690)
# not safe: it changes which groups an interface carries
resource "aws_network_interface_sg_attachment" "sgaudit_20261201t093000_abc123_5_1" {
  security_group_id    = aws_security_group.sgaudit_20261201t093000_abc123_1.id
  network_interface_id = "eni-05aa0d263ce9822ba"
}

# op-6: put the new group on eni-045976b9d7b182629 of train-2 (i-0246c7926d4bda3e1)
# not safe: it changes which groups an interface carries
resource "aws_network_interface_sg_attachment" "sgaudit_20261201t093000_abc123_6_1" {
  security_group_id    = aws_security_group.sgaudit_20261201t093000_abc123_1.id
  network_interface_id = "eni-045976b9d7b182629"
}

# op-7: put the new group on eni-0e62b2d603d259b59 of train-3 (i-06615864c0aca04b4)
# not safe: it changes which groups an interface carries
resource "aws_network_interface_sg_attachment" "sgaudit_20261201t093000_abc123_7_1" {
  security_group_id    = aws_security_group.sgaudit_20261201t093000_abc123_1.id
  network_interface_id = "eni-0e62b2d603d259b59"
}
